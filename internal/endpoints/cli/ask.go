package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

const (
	// askTimeout is how long the daemon may take to answer.
	askTimeout = 3 * time.Second
	// mostAnswer bounds its answer; one of 5,000 nodes has 5 MB at the most.
	mostAnswer = 16 << 20
	// mostPages bounds the pages of Services that are asked for.
	mostPages = 100
	// mostMessage bounds what the daemon says instead of an answer.
	mostMessage = 4 << 10
	// noPage is what net/http answers where a path is not known.
	noPage = "404 page not found"
)

// daemon is the daemon that runs with this configuration. It is asked for pools and
// Services, for one of them, and for what these know of a node.
type daemon struct{ settings.Config }

// errNoPort says that the daemon cannot be asked.
var errNoPort = errors.New("ADMIN_ADDRESS has port 0, so only the log of the daemon says where it listens")

func (d daemon) services(ctx context.Context, s scope) (*report.Services, error) {
	return pages(ctx, d, "/api/v1/services", s.query(), func(t *report.Services) (*[]report.ServiceStatus, int) { return &t.Services, t.Total })
}

func (d daemon) service(ctx context.Context, s scope) (*report.Document, error) {
	var document report.Document
	err := d.ask(ctx, "/api/v1/services/"+url.PathEscape(s.namespace)+"/"+url.PathEscape(s.service), &document)
	return &document, err
}

func (d daemon) explanation(ctx context.Context, s scope, subject string) (*report.Explanation, error) {
	q := s.query()
	q.Set("subject", subject)
	return pages(ctx, d, "/api/v1/explain", q, func(e *report.Explanation) (*[]report.ExplainedService, int) { return &e.Services, e.Total })
}

// ask asks for one path.
func (d daemon) ask(ctx context.Context, path string, into any) error {
	if d.Listen.Admin.Port() == 0 {
		return errNoPort
	}
	return ask(ctx, adminURL(d.Listen.Admin)+path, "", askTimeout, into)
}

// query asks for the Services of the scope.
func (s scope) query() url.Values {
	q := url.Values{"limit": {strconv.Itoa(report.MaxLimit)}}
	if s.namespace != "" {
		q.Set("namespace", s.namespace)
	}
	return q
}

// pages asks for page after page until all Services are there.
func pages[T, S any](ctx context.Context, d daemon, path string, q url.Values, services func(*T) (page *[]S, total int)) (*T, error) {
	all := new(T)
	err := d.ask(ctx, path+"?"+q.Encode(), all)
	have, total := services(all)
	for page := 1; err == nil && len(*have) < total; page++ {
		if page == mostPages {
			return nil, fmt.Errorf("the daemon has more than %d Services", mostPages*report.MaxLimit)
		}
		next := new(T)
		q.Set("offset", strconv.Itoa(len(*have)))
		err = d.ask(ctx, path+"?"+q.Encode(), next)
		more, _ := services(next)
		if len(*more) == 0 {
			break // there are fewer now
		}
		*have = append(*have, *more...)
	}
	return all, err
}

// adminURL is where the daemon of this configuration answers. One that listens
// on every address is asked on the machine itself.
func adminURL(listening netip.AddrPort) string {
	addr := listening.Addr()
	switch {
	case addr == netip.IPv6Unspecified():
		addr = netip.IPv6Loopback()
	case addr.IsUnspecified():
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "http://" + netip.AddrPortFrom(addr, listening.Port()).String()
}

// ask gets the answer of a process, which has to have the form of this version. An identity
// names the process that should answer. A 404 is the error *report.NoService, with the words
// of the process.
func ask(ctx context.Context, at, identity string, timeout time.Duration, into any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text, err := get(ctx, at, identity)
	if _, none := errors.AsType[*report.NoService](err); none {
		return err
	}
	if err == nil {
		err = decode(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at, brief(err, timeout))
	}
	return nil
}

// decode reads an answer. One of another version says nothing.
func decode(text []byte, into any) error {
	var form struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(text, &form); err != nil || form.APIVersion != report.APIVersion {
		return fmt.Errorf("the answer is not from a daemon of this version (apiVersion %q, want %q); if an update is under way, wait for its end", form.APIVersion, report.APIVersion)
	}
	return json.Unmarshal(text, into)
}

// get fetches a bounded answer, without proxy or redirect: no other server can answer in the
// place of the one that is asked.
func get(ctx context.Context, at, identity string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	if identity != "" {
		request.Header.Set("Authorization", "Bearer "+identity)
	}
	request.Header.Set("Accept", "application/json")
	client := http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		// Of a path that the daemon does not know it says only that.
		if text, err := io.ReadAll(io.LimitReader(response.Body, mostMessage)); err == nil && strings.TrimSpace(string(text)) != noPage {
			return nil, &report.NoService{Message: strings.TrimSpace(string(text))}
		}
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	if err == nil && len(text) > mostAnswer {
		err = fmt.Errorf("the answer is longer than %d MiB", mostAnswer>>20)
	}
	return text, err
}

// brief removes from an error what the message around it says already.
func brief(err error, timeout time.Duration) error {
	var operation *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nothing listens there")
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s", timeout)
	case errors.As(err, &operation):
		return operation.Err
	}
	return err
}

// leaderTimeout is how long the leader may take to answer a standby, whose own answer
// is waited for by askTimeout.
const leaderTimeout = 2 * time.Second

// leaderAnswer gets what the replica that holds the lease answers to a path below
// page.LeaderPath. It reports false where this process leads, or where none is known to.
func (b *parts) leaderAnswer(ctx context.Context, path string, into report.Answer) (bool, error) {
	leader := b.leader.state()
	if leader.Leading || leader.Holder == "" {
		return false, nil
	}
	err := askLeaderFor(ctx, leader, b.leader.name, path, into)
	return err == nil, err
}

// askLeaderFor gets what the replica that holds the lease answers to a path, for the
// standby of that name to hand on, within leaderTimeout. It says of what goes wrong where.
func askLeaderFor(ctx context.Context, leader lease.State, by, path string, into report.Answer) error {
	if !leader.Address.IsValid() {
		return errors.New("the lease does not say where the leader answers: the leader runs with --once, or has an older version")
	}
	if leader.Protocol != lease.Protocol {
		return fmt.Errorf("the leader answers other replicas in version %q, this replica asks in version %q; wait for the update to end", leader.Protocol, lease.Protocol)
	}
	at := "http://" + leader.Address.String() + page.LeaderPath + path
	err := ask(ctx, at, leader.Holder, leaderTimeout, into)
	if err == nil && !into.HandOn(by, leader.Holder) {
		err = fmt.Errorf("%s: the answer is not from %s", at, leader.Holder)
	}
	var none *report.NoService
	switch {
	case err == nil, errors.As(err, &none):
		return err
	case leader.Address.Addr().IsLoopback():
		return fmt.Errorf("ask the leader at %w. Only the leader's own machine reaches that address; set METRICS_ADDRESS to an address that the other replicas reach", err)
	}
	return fmt.Errorf("ask the leader at %w", err)
}
