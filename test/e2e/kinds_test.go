package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// definitions has the CustomResourceDefinitions.
const definitions = "../../deploy/crds"

// withKinds lets the program read documents of the API server too, and gives it the rights.
func (p *platform) withKinds() {
	p.t.Helper()
	for name, value := range map[string]string{
		"DOCUMENTS_API": "true", "BOUNDS_SUBNETS": "10.0.0.0/8", "BOUNDS_NAMESPACES": p.namespace + ",elsewhere", "BOUNDS_PORTS": fmt.Sprint(port),
	} {
		p.env[name] = value
	}
	p.grantKinds()
}

// grantKinds gives the rights to read documents and to write their status.
func (p *platform) grantKinds() {
	p.t.Helper()
	p.allowKinds("daemon-kinds", "list", "watch")
	p.allowKinds("daemon-status", "update")
}

func (p *platform) allowKinds(name string, verbs ...string) {
	p.t.Helper()
	kinds := []string{"endpointpools", "endpointbindings"}
	if name == "daemon-status" {
		kinds = []string{"endpointpools/status", "endpointbindings/status"}
	}
	name = p.user + "-" + name
	rbac, rule := p.client.RbacV1(), rbacv1.PolicyRule{APIGroups: []string{"endpoints.ablmnzde.github.io"}, Resources: kinds, Verbs: verbs}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}
	_, err := rbac.ClusterRoles().Create(p.t.Context(), role, metav1.CreateOptions{})
	if err == nil {
		_, err = rbac.ClusterRoleBindings().Create(p.t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: p.user, APIGroup: rbacv1.GroupName}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	resource, subresource, _ := strings.Cut(kinds[1], "/")
	p.cp.AwaitRights(p.t, p.user, true, authorizationv1.ResourceAttributes{Group: rule.APIGroups[0], Resource: resource, Subresource: subresource}, verbs...)
}

// kubectl runs kubectl as an administrator, with text on standard input.
func (p *platform) kubectl(text string, args ...string) string {
	p.t.Helper()
	out, err := p.kubectlTries(text, args...)
	if err != nil {
		p.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// kubectlTries is the same where that may fail.
func (p *platform) kubectlTries(text string, args ...string) (string, error) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), p.cp.KubectlPath(), args...)
	command.Env = []string{"HOME=" + p.t.TempDir(), "KUBECONFIG=" + p.cp.Kubeconfig(p.t)}
	command.Stdin = strings.NewReader(text)
	out, err := command.CombinedOutput()
	return string(out), err
}

// install applies the CustomResourceDefinitions.
func (p *platform) install() {
	p.t.Helper()
	p.kubectl("", "apply", "--filename", definitions)
	p.kubectl("", "wait", "--for=condition=Established", "--timeout="+waitTimeout.String(), "--filename", definitions)
}

// wantCondition waits for a condition as a pipeline does.
func (p *platform) wantCondition(object, condition string) {
	p.t.Helper()
	p.kubectl("", "wait", "--namespace", p.namespace, "--for=condition="+condition, "--timeout="+waitTimeout.String(), object)
}

// said is a condition of an object: its reason, message and how often the object says so.
func (p *platform) said(object, condition string) string {
	p.t.Helper()
	return p.kubectl("", p.saying(object, condition)...)
}

// saying are the arguments of kubectl that ask for it.
func (p *platform) saying(object, condition string) []string {
	return []string{"get", "--namespace", p.namespace, object, "--output", fmt.Sprintf(
		`jsonpath={range .status.conditions[?(@.type==%q)]}{.status} {.reason}: {.message}{end}`, condition)}
}

// written are the writes of slices, and of the statuses of bindings.
func (p *platform) written() (slicesWritten, statuses []controlplane.AuditEvent) {
	p.t.Helper()
	for _, e := range p.writes() {
		if e.Resource == "endpointslices" {
			slicesWritten = append(slicesWritten, e)
		} else if e.Resource == "endpointbindings" {
			statuses = append(statuses, e)
		}
	}
	return slicesWritten, statuses
}

// slicesWritten are those of slices.
func (p *platform) slicesWritten() []controlplane.AuditEvent {
	p.t.Helper()
	all, _ := p.written()
	return all
}

// wantSlicesWritten compares the number of writes of slices since before.
func (p *platform) wantSlicesWritten(before []controlplane.AuditEvent, want int) {
	p.t.Helper()
	if got := p.slicesWritten()[len(before):]; len(got) != want {
		p.t.Errorf("got %d writes of slices, want %d: %+v", len(got), want, got)
	}
}

// Contracts 81 to 84: documents move from files to the API server and back, kinds come and
// go, and nothing that works is taken away.
func TestContract81To84DocumentsInTheAPIServer(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	p.withKinds()

	t.Log("without the kinds, files and annotations work")
	d := p.start()
	for range 2 {
		d.says("the API server does not have the kind; documents in files and annotations count")
	}
	p.want()

	t.Log("Contract 84: the documents move with one command")
	p.install()
	before := p.slicesWritten()
	printed := p.command(nil, "config", "show", "-o", "documents").stdout
	p.kubectl(printed, "apply", "--filename", "-")
	p.wantCondition("endpointbinding/web", "Accepted=False")
	if got := p.said("endpointbinding/web", "Accepted"); !strings.Contains(got, "False Shadowed: a file in DOCUMENTS_DIR has EndpointBinding "+p.namespace+"/web too, and the file counts") {
		t.Errorf("got %q", got)
	}
	p.removeFiles()
	p.wantCondition("endpointbinding/web", "Ready")
	p.wantCondition("endpointbinding/both", "Programmed")
	p.wantCondition("endpointpool/blue", "SourceReady")
	// An object is written at most once in five seconds, so what was there to say is said later.
	p.wantCondition("endpointpool/green", "SourceReady")
	for binding, want := range map[string]string{"web": "3 of 3", "both": "5 of 5"} {
		p.until(func() bool {
			return p.said("endpointbinding/"+binding, "Ready") == "True EndpointsReady: "+want+" endpoints are ready"
		}, func() string {
			return fmt.Sprintf("%s: got %q, want %s ready", binding, p.said("endpointbinding/"+binding, "Ready"), want)
		})
	}

	t.Log("Contract 83: a dead node costs one status for each binding, after the slices")
	p.wantSlicesWritten(before, 0)
	_, told := p.written()
	p.nodes[0].backends[0].kill()
	p.want("down")
	p.untilStatuses(len(told) + 2)
	after, tells := p.written()
	last := after[len(after)-1]
	for _, e := range tells[len(told):] {
		if e.Received.Before(last.Received) {
			t.Errorf("a status was written at %s, before the last slice at %s", e.Received, last.Received)
		}
	}
	p.wantSlicesWritten(before, 2)

	p.lose(d, printed)
	d.stop()
	p.restartWithoutKinds()
}

// removeFiles leaves one file without documents, as the documentation says.
func (p *platform) removeFiles() {
	p.t.Helper()
	p.write("none.yaml", "# nothing\n")
	files, err := filepath.Glob(filepath.Join(p.folder, "*.yaml"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Base(file) != "none.yaml" {
			if err := os.Remove(file); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// untilStatuses waits until so many statuses were written.
func (p *platform) untilStatuses(want int) {
	p.t.Helper()
	var got []controlplane.AuditEvent
	p.until(func() bool {
		_, got = p.written()
		return len(got) >= want
	}, func() string { return fmt.Sprintf("got %d writes of statuses, want %d: %+v", len(got), want, got) })
}

// lose deletes a kind with its objects, and brings it back.
func (p *platform) lose(d *daemon, objects string) {
	p.t.Helper()
	p.kubectl("", "delete", "--filename", definitions)
	for range 2 {
		for !strings.Contains(fmt.Sprint(d.says("mistake in a document")["message"]), "is lost") {
		}
	}
	p.nodes[1].backends[0].kill()
	p.want("down", "down")
	p.install()
	p.kubectl(objects, "apply", "--filename", "-")
	for range 2 {
		d.says("the API server has the kind")
	}
	p.wantCondition("endpointbinding/web", "Ready")
	if got := p.said("endpointbinding/web", "Ready"); got != "True EndpointsReady: 1 of 3 endpoints are ready" {
		p.t.Errorf("got %q", got)
	}
	p.want("down", "down")
}

// restartWithoutKinds starts a process that has never seen the kinds, while slices tell
// that they were there.
func (p *platform) restartWithoutKinds() {
	p.t.Helper()
	p.kubectl("", "delete", "--filename", definitions)
	before := p.slicesWritten()
	published := p.bySlice()
	d := p.start()
	for range 2 {
		for !strings.Contains(fmt.Sprint(d.says("mistake in a document")["message"]), "is lost") {
		}
	}
	if d.count("the API server does not have the kind; documents in files and annotations count") > 0 {
		p.t.Error("a lost kind was told as missing")
	}
	p.wantSlicesWritten(before, 0)
	if fmt.Sprint(p.bySlice()) != fmt.Sprint(published) {
		p.t.Errorf("got slices %v, want %v", p.bySlice(), published)
	}
	d.stop()
}
