package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// newLocalWorld is a world without an API server: the slices are in memory.
func newLocalWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, namespace: "default", inventory: filepath.Join(t.TempDir(), "inventory.json")}
	for _, addr := range netns.Addresses(t, 3) {
		w.nodes = append(w.nodes, w.newNode(addr))
	}
	w.writeInventory(w.nodes)
	w.env = map[string]string{
		"PATH": os.Getenv("PATH"), "SOURCE_KIND": "file", "INVENTORY_FILE_PATH": w.inventory, "SOURCE_POLL_INTERVAL": "500ms",
		"SECURED_SUBNET_CIDR": "10.0.0.0/16,fd00::/64", "TARGET_SERVICE_NAME": "web", "TARGET_PORT": fmt.Sprint(port),
		"LOG_LEVEL": "debug", "ADMIN_ADDRESS": "127.0.0.1:0", "METRICS_ADDRESS": "127.0.0.1:0",
	}
	return w
}

// status is the part of the document that the tests look at.
type status struct {
	Summary, Mode string
	Healthy       bool
	Source        struct {
		LastError     string
		RemoteService *struct{ Reason string }
	}
	Store struct{ LastError string }
	Nodes []nodeStatus
}

type nodeStatus struct {
	Name, Address, State, Reason, Message string
}

// surfaces is a daemon that is looked at from every side.
type surfaces struct {
	*daemon

	admin, metrics string
}

// newSurfaces learns from the log where the daemon listens.
func newSurfaces(d *daemon) *surfaces {
	d.world.t.Helper()
	line := d.says("listening")
	return &surfaces{d, fmt.Sprint(line["admin_address"]), fmt.Sprint(line["metrics_address"])}
}

// get fetches a page.
func (s *surfaces) get(address, path string) string {
	s.world.t.Helper()
	ctx, cancel := context.WithTimeout(s.world.t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		s.world.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.world.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.world.t.Fatalf("%s: %s, %v: %s", path, response.Status, err, text)
	}
	return string(text)
}

// statusSchema compiles the schema that users get, once.
var statusSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	return compiler.Compile(filepath.Join("..", "..", "docs", "reference", "status.schema.json"))
})

// status fetches the document, which must fit the schema.
func (s *surfaces) status() status {
	s.world.t.Helper()
	text := s.get(s.admin, "/api/v1/services/"+s.world.namespace+"/web")
	schema, err := statusSchema()
	if err != nil {
		s.world.t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		s.world.t.Fatalf("the document does not fit its schema: %v\n%s", err, text)
	}
	var d status
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		s.world.t.Fatal(err)
	}
	return d
}

// find returns what the document says of a node, nothing if it has none.
func (d status) find(name string) nodeStatus {
	i := slices.IndexFunc(d.Nodes, func(n nodeStatus) bool { return n.Name == name })
	if i < 0 {
		return nodeStatus{}
	}
	return d.Nodes[i]
}

// await waits until the document gives the reason for a node.
func (s *surfaces) await(name, reason string) {
	s.world.t.Helper()
	var got nodeStatus
	s.world.until(func() bool {
		got = s.status().find(name)
		return got.Reason == reason
	}, func() string { return fmt.Sprintf("%s: got %+v, want %s", name, got, reason) })
}

// digits are the part of messages that goes on counting: 1 time, 2 times.
var digits = regexp.MustCompile(`\d+(?: times?\b)?`)

// gist is a message without its numbers.
func gist(message string) string { return digits.ReplaceAllString(message, "#") }

// check wants the reason, with the message that the document gives, everywhere. An
// endpoint may change its state between two surfaces, so all of them are asked again
// until they agree.
func (s *surfaces) check(name, reason string) {
	s.world.t.Helper()
	var wrong []string
	s.world.until(func() bool {
		wrong = s.disagreements(name, reason)
		return len(wrong) == 0
	}, func() string { return strings.Join(wrong, "\n") })
}

// disagreements says what each surface says otherwise than the document.
func (s *surfaces) disagreements(name, reason string) (wrong []string) {
	s.world.t.Helper()
	n := s.status().find(name)
	if n.Message == "" {
		wrong = append(wrong, fmt.Sprintf("JSON: got no message: %+v", n))
	}
	byName, unclear := s.explained(name)
	byAddress, unclearToo := s.explained(n.Address)
	wrong = slices.Concat(wrong, unclear, unclearToo)
	for surface, said := range map[string][]string{"page": s.onPage(name), "explain": byName, "explain by address": byAddress, "log": s.logged(name)} {
		found := slices.ContainsFunc(said, func(line string) bool {
			return strings.HasPrefix(line, reason+" ") && gist(line) == gist(reason+" "+n.Message)
		})
		if !found && (surface != "explain by address" || n.Address != "") {
			wrong = append(wrong, fmt.Sprintf("%s: got no %q among %q", surface, reason+" "+n.Message, said))
		}
	}
	count, counted := s.count(reason), 0
	if slices.Contains(ineligible, reason) {
		counted = count
	}
	if got := s.counted(reason); got != counted || count == 0 {
		wrong = append(wrong, fmt.Sprintf("metric: got %d nodes with reason %s, want %d of %d", got, reason, counted, count))
	}
	return wrong
}

// count is how many entries of the document have the reason.
func (s *surfaces) count(reason string) int {
	s.world.t.Helper()
	count := 0
	for _, n := range s.status().Nodes {
		if n.Reason == reason {
			count++
		}
	}
	return count
}

// ineligible are the reasons that nodes have before they are checked.
var ineligible = []string{"Excluded", "NotWorker", "NodeNotReady", "NoPrivateAddress", "InvalidAddress", "ForbiddenAddress", "OutsideSubnet", "DuplicateAddress"}

// counted is how many the metric says have the reason.
func (s *surfaces) counted(reason string) int {
	s.world.t.Helper()
	for line := range strings.Lines(s.get(s.metrics, "/metrics")) {
		var count int
		if _, err := fmt.Sscanf(line, "ionos_endpointslice_not_eligible{pool=\"remote\",reason=\""+reason+"\"} %d", &count); err == nil {
			return count
		}
	}
	return 0
}

// row finds the rows of the page, said what they say.
var (
	row  = regexp.MustCompile(`(?s)<bdi class="name">(.*?)</bdi>.*?</tr>`)
	said = regexp.MustCompile(`<summary><span class="reason">(.*?)</span> <span class="message">(.*?)</span>`)
)

// onPage returns reason and message of each row about a node.
func (s *surfaces) onPage(name string) []string {
	s.world.t.Helper()
	var all []string
	for _, r := range row.FindAllStringSubmatch(s.get(s.admin, "/"), -1) {
		if m := said.FindStringSubmatch(r[0]); m != nil && r[1] == name {
			all = append(all, html.UnescapeString(m[1]+" "+m[2]))
		}
	}
	return all
}

// explained returns reason and message of each entry that explain has, in all its
// forms, when it asks the daemon, and what is wrong with them.
func (s *surfaces) explained(subject string) (all, wrong []string) {
	s.world.t.Helper()
	if subject == "" {
		return nil, nil
	}
	asking := []string{"ADMIN_ADDRESS=" + s.admin}
	var e struct {
		Services []struct{ Nodes []nodeStatus }
	}
	got := s.world.command(asking, "explain", subject, "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || strings.Contains(got.stderr, "evaluating locally") {
		wrong = append(wrong, fmt.Sprintf("explain %s: %v: %+v", subject, err, got))
	}
	var nodes []nodeStatus
	for _, service := range e.Services {
		nodes = append(nodes, service.Nodes...)
	}
	text := s.world.command(asking, "explain", subject).stdout
	ready := false
	for _, n := range nodes {
		ready = ready || n.State == "ready"
		all = append(all, n.Reason+" "+n.Message)
		if !strings.Contains(gist(text), gist(n.Message)) || !strings.Contains(text, n.State+", "+n.Reason) {
			wrong = append(wrong, fmt.Sprintf("explain %s: got no %s, %s: %s in\n%s", subject, n.State, n.Reason, n.Message, text))
		}
	}
	if ready != (got.code == 0) {
		wrong = append(wrong, fmt.Sprintf("explain %s: got status %d for %+v", subject, got.code, nodes))
	}
	return all, wrong
}

// logged returns reason and message of each line about what became of a node.
func (s *surfaces) logged(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, line := range s.lines {
		if line["msg"] == "decision changed" && line["node"] == name {
			all = append(all, fmt.Sprint(line["reason"], " ", line["message"]))
		}
	}
	return all
}

// wantEvent waits for an Event whose note says the words.
func (s *surfaces) wantEvent(reason, words string) {
	s.world.t.Helper()
	s.world.until(func() bool {
		return slices.ContainsFunc(s.world.told(reason), func(note string) bool { return strings.Contains(note, words) })
	}, func() string {
		return fmt.Sprintf("Event: got no %s with %q among %v", reason, words, s.world.told(reason))
	})
}
