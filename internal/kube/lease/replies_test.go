package lease_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// replyPrefix begins the annotations of the lines, as other programs read them.
const replyPrefix = "reached.endpoints.ablmnzde.github.io/"

// replies is a Lease of replies on a real API server, with what a test needs of it.
type replies struct {
	t      *testing.T
	server *controlplane.ControlPlane
	admin  *kubernetes.Clientset
	name   string
}

func newReplies(t *testing.T, server *controlplane.ControlPlane, name string) *replies {
	t.Helper()
	config := server.Config()
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.CloseIdleConnections)
	admin, err := kubernetes.NewForConfigAndClient(config, connection)
	if err != nil {
		t.Fatal(err)
	}
	return &replies{t, server, admin, name}
}

// elector makes one that does not stand for the Lease.
func (r *replies) elector(config *rest.Config, who string) *lease.Elector {
	r.t.Helper()
	e, err := lease.New(lease.Options{Way: kube.Fixed(config), Namespace: "default", Name: r.name, Identity: who})
	if err != nil {
		r.t.Fatal(err)
	}
	// One that does not get the Lease closes its connections.
	r.t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.Run(over, nil)
	})
	return e
}

func (r *replies) get() *coordinationv1.Lease {
	r.t.Helper()
	got, err := r.admin.CoordinationV1().Leases("default").Get(r.t.Context(), r.name+"-reached", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func (r *replies) remove(ctx context.Context) error {
	return r.admin.CoordinationV1().Leases("default").Delete(ctx, r.name+"-reached", metav1.DeleteOptions{})
}

// follow follows the lines until the test ends.
func (r *replies) follow(e *lease.Elector) *replyLog {
	f := &replyLog{t: r.t, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.err = e.Replies(ctx, f.each)
	}()
	f.stop = func() error { cancel(); <-done; return f.err }
	r.t.Cleanup(func() { _ = f.stop() })
	return f
}

// replyLog is what Replies told.
type replyLog struct {
	t    *testing.T
	stop func() error
	err  error
	news chan struct{}

	mu  sync.Mutex
	all []map[string]string
}

func (f *replyLog) each(lines map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, maps.Clone(lines))
	clear(lines) // they are ours
	kube.Signal(f.news)
}

// wait waits until the lines are as wanted.
func (f *replyLog) wait(want map[string]string) {
	f.t.Helper()
	limit := time.After(waitTimeout)
	for {
		f.mu.Lock()
		all := f.all
		f.mu.Unlock()
		if len(all) > 0 && maps.Equal(all[len(all)-1], want) {
			return
		}
		select {
		case <-f.news:
		case <-limit:
			f.t.Fatalf("got %v, want %v last", all, want)
		}
	}
}

// all keeps every line.
func all(string, string) bool { return true }

func want(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReplicasReply(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{Audit: true})
	for name, test := range map[string]func(*testing.T, *replies){
		"side-by-side": repliesSideBySide, "pruned": repliesArePruned, "deleted": repliesAreDeletedBetween,
		"rights": repliesNeedNoMoreRights, "later": repliesAreReadOnceThatIsAllowed, "forbidden": repliesForbidden, "cut": repliesAreFollowedAfterACut,
		"at-rest": nothingOfRepliesAtRest, "bounded": repliesAreBounded, "newer-leader": repliesToANewerLeader, "seen": replicasAreSeen,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newReplies(t, server, name))
		})
	}
}

// Two standbys write at the same time, and conflict; neither loses its line.
func repliesSideBySide(t *testing.T, r *replies) {
	leader := r.elector(r.server.Config(), "leader")
	if lines, err := leader.ReadReplies(t.Context()); err != nil || len(lines) != 0 {
		t.Errorf("got %v and %v where there is no Lease, want no lines", lines, err)
	}
	lines := r.follow(leader)
	lines.wait(map[string]string{})
	const rounds = 25
	var writers sync.WaitGroup
	for _, who := range []string{"two", "three"} {
		e := r.elector(r.server.Config(), who)
		writers.Go(func() {
			for i := range rounds {
				if err := e.Reply(t.Context(), who, fmt.Sprintf("%s %d", who, i), all); err != nil {
					t.Errorf("%s: %v", who, err)
				}
			}
		})
	}
	writers.Wait()
	lines.wait(map[string]string{"two": "two 24", "three": "three 24"})
	conflicts := 0
	for _, event := range r.server.Audit() {
		if event.Name == r.name+"-reached" && event.Code == http.StatusConflict {
			conflicts++
		}
	}
	if conflicts == 0 {
		t.Error("got no conflict, want that the two meet")
	}
	t.Logf("%d conflicts in %d writes", conflicts, 2*rounds)
	if err := lines.stop(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func repliesArePruned(t *testing.T, r *replies) {
	two, three := r.elector(r.server.Config(), "two"), r.elector(r.server.Config(), "three")
	want(t, two.Reply(t.Context(), "two", "", all)) // nothing to say, and no Lease for it
	if _, err := r.admin.CoordinationV1().Leases("default").Get(t.Context(), r.name+"-reached", metav1.GetOptions{}); err == nil {
		t.Error("an empty line makes a lease")
	}
	want(t, two.Reply(t.Context(), "two", "to one", all))
	edited := r.get()
	edited.Annotations["team"], edited.Labels = "ours", map[string]string{"team": "ours"}
	_, err := r.admin.CoordinationV1().Leases("default").Update(t.Context(), edited, metav1.UpdateOptions{})
	want(t, err)
	want(t, three.Reply(t.Context(), "three", "to four", func(text, _ string) bool { return text == "to four" }))
	got := r.get()
	if lines, err := two.ReadReplies(t.Context()); err != nil || !maps.Equal(lines, map[string]string{"three": "to four"}) {
		t.Errorf("got %v and %v, want three's line", lines, err)
	}
	if got.Annotations["team"] != "ours" || got.Labels["team"] != "ours" || got.Annotations[replyPrefix+"three"] != "to four" || len(got.Annotations) != 2 {
		t.Errorf("got %v, want what others wrote kept", got.Annotations)
	}
	// What stands there already is not written again.
	want(t, three.Reply(t.Context(), "three", "to four", all))
	if again := r.get(); again.ResourceVersion != got.ResourceVersion {
		t.Error("the same line is written again")
	}
	want(t, three.Reply(t.Context(), "three", "", all))
	if got := r.get().Annotations; len(got) != 1 {
		t.Errorf("got %v, want no line", got)
	}
}

// toLeader keeps the lines to a leader, and to the one that holds the Lease.
func toLeader(leader string) func(text, holder string) bool {
	return func(text, holder string) bool { return text == "to "+leader || text == "to "+holder }
}

// lead makes a process the holder of the Lease.
func (r *replies) lead(ctx context.Context, holder string) {
	all := r.admin.CoordinationV1().Leases("default")
	held, err := all.Get(ctx, r.name, metav1.GetOptions{})
	if err != nil {
		held = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: r.name}}
		held, err = all.Create(ctx, held, metav1.CreateOptions{})
		want(r.t, err)
	}
	held.Spec.HolderIdentity = &holder
	_, err = all.Update(ctx, held, metav1.UpdateOptions{})
	want(r.t, err)
}

// A standby that has not heard of a new leader drops no line that another one has written for it,
// at whichever moment that is written; what is for an older leader goes.
func repliesToANewerLeader(t *testing.T, r *replies) {
	three := r.elector(r.server.Config(), "three")
	for moment := range 3 {
		r.lead(t.Context(), "old")
		want(t, three.Reply(t.Context(), "three", "", toLeader("old")))
		want(t, three.Reply(t.Context(), "older", "to older", all))
		requests, config := 0, r.server.Config()
		config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
			return tripper(func(request *http.Request) (*http.Response, error) {
				if requests++; requests == moment+1 {
					r.lead(request.Context(), "new")
					want(t, three.Reply(request.Context(), "three", "to new", toLeader("new")))
				}
				return inner.RoundTrip(request)
			})
		})
		want(t, r.elector(config, "two").Reply(t.Context(), "two", fmt.Sprint("from two at ", moment), toLeader("old")))
		lines, err := three.ReadReplies(t.Context())
		want(t, err)
		if _, older := lines["older"]; older || moment >= requests || lines["three"] != "to new" {
			t.Errorf("at %d of %d: got %v, want the line to the new leader, and none to an older one", moment, requests, lines)
		}
	}
}

// Look says who leads, where, and which replicas have a line. A node that an earlier holder left
// is none.
func replicasAreSeen(t *testing.T, r *replies) {
	client, err := kube.Open(kube.Options{Way: kube.Fixed(r.server.Config()), Timeout: waitTimeout})
	want(t, err)
	defer client.Close()
	look := func() lease.Replicas {
		t.Helper()
		seen, err := lease.Look(t.Context(), client, "default", r.name)
		want(t, err)
		return seen
	}
	if got := look(); got.Holder != "" || len(got.Lines) != 0 {
		t.Errorf("got %+v where there is no Lease", got)
	}
	e, err := lease.New(lease.Options{Way: kube.Fixed(r.server.Config()), Namespace: "default", Name: r.name, Identity: "one", Node: "node a"})
	want(t, err)
	want(t, r.elector(r.server.Config(), "two").Reply(t.Context(), "two", "to one", all))
	want(t, e.Run(t.Context(), func(ctx context.Context) error {
		if got := look(); got.Holder != "one" || got.Node != "node a" || time.Since(got.Renewed) > waitTimeout || !maps.Equal(got.Lines, map[string]string{"two": "to one"}) {
			t.Errorf("got %+v, want one on node a and the line of two", got)
		}
		r.lead(ctx, "another")
		if got := look(); got.Holder != "another" || got.Node != "" {
			t.Errorf("got %+v, want another on no node", got)
		}
		r.lead(ctx, "one")
		return nil
	}))
	r.grant("sees-one", r.name)
	less, err := kube.Open(kube.Options{Way: kube.Fixed(r.server.UserConfig("sees-one")), Timeout: waitTimeout})
	want(t, err)
	defer less.Close()
	if _, err := lease.Look(t.Context(), less, "default", r.name); err == nil || !strings.Contains(err.Error(), r.name+"-reached") {
		t.Errorf("got %v, want that the second Lease cannot be read", err)
	}
}

func repliesAreDeletedBetween(t *testing.T, r *replies) {
	config := r.server.Config()
	two := r.elector(config, "two")
	want(t, two.Reply(t.Context(), "two", "first", all))
	lines := r.follow(two)
	lines.wait(map[string]string{"two": "first"})
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		once := sync.OnceFunc(func() { want(t, r.remove(t.Context())) })
		return tripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPut {
				once()
			}
			return inner.RoundTrip(request)
		})
	})
	three := r.elector(config, "three")
	want(t, three.Reply(t.Context(), "three", "second", all))
	lines.wait(map[string]string{"three": "second"})
	began := time.Now()
	want(t, r.remove(t.Context()))
	lines.wait(map[string]string{})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the deletion is told after %s, want by the watch", took)
	}
	want(t, three.Reply(t.Context(), "three", "second", all))
	lines.wait(map[string]string{"three": "second"})
}

// tripper is an http.RoundTripper.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// grant gives the rights of the package's comment for these Leases to a user.
func (r *replies) grant(user string, names ...string) {
	r.t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: "default"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: names, Verbs: []string{"list", "watch", "update"}},
		},
	}
	_, err := r.admin.RbacV1().Roles("default").Create(r.t.Context(), role, metav1.CreateOptions{})
	want(r.t, err)
	_, err = r.admin.RbacV1().RoleBindings("default").Create(r.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: "default"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	want(r.t, err)
	for _, name := range names {
		of := authorizationv1.ResourceAttributes{Namespace: "default", Group: "coordination.k8s.io", Resource: "leases", Name: name}
		r.server.AwaitRights(r.t, user, true, of, "list", "watch", "update")
	}
	of := authorizationv1.ResourceAttributes{Namespace: "default", Group: "coordination.k8s.io", Resource: "leases"}
	r.server.AwaitRights(r.t, user, true, of, "create")
}

// The rights of the Lease, by name, are enough for the second one.
func repliesNeedNoMoreRights(t *testing.T, r *replies) {
	r.grant("replica", r.name, r.name+"-reached")
	e := r.elector(r.server.UserConfig("replica"), "two")
	want(t, e.Reply(t.Context(), "two", "first", all))
	lines := r.follow(e)
	lines.wait(map[string]string{"two": "first"})
	want(t, e.Reply(t.Context(), "two", "second", all))
	lines.wait(map[string]string{"two": "second"})
	want(t, lines.stop())
}

// repliesAreReadOnceThatIsAllowed: at the end it is no failure that they could not be read before.
func repliesAreReadOnceThatIsAllowed(t *testing.T, r *replies) {
	e := r.elector(r.server.UserConfig("later"), "two")
	lines := r.follow(e)
	for asked := 0; asked == 0; time.Sleep(10 * time.Millisecond) {
		for _, event := range r.server.Audit() {
			if event.User == "later" {
				asked++
			}
		}
	}
	r.grant("later", r.name, r.name+"-reached")
	lines.wait(map[string]string{})
	want(t, e.Reply(t.Context(), "two", "first", all))
	lines.wait(map[string]string{"two": "first"})
	want(t, lines.stop())
}

func repliesForbidden(t *testing.T, r *replies) {
	r.grant("older", r.name)
	e := r.elector(r.server.UserConfig("older"), "two")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, read := e.ReadReplies(t.Context())
	for what, err := range map[string]error{
		"reply": e.Reply(t.Context(), "two", "first", all),
		"read":  read,
		"follow": e.Replies(ctx, func(lines map[string]string) {
			t.Errorf("got %v, want no lines", lines)
		}),
	} {
		if err == nil || !strings.Contains(err.Error(), "lease default/"+r.name+"-reached") || !strings.Contains(err.Error(), "grant list, watch, create and update") {
			t.Errorf("%s: got %v, want the lease and the missing right", what, err)
		}
	}
	asked := 0
	for _, event := range r.server.Audit() {
		if event.User == "older" && strings.Contains(event.Path, r.name+"-reached") {
			asked++
		}
	}
	if asked > 12 {
		t.Errorf("got %d requests in three seconds, want ever fewer", asked)
	}
}

// cuttable is an access whose connections the function closes, each time it is called.
func (r *replies) cuttable() (config *rest.Config, cut func()) {
	var mu sync.Mutex
	var open []net.Conn
	config = r.server.Config()
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		mu.Lock()
		defer mu.Unlock()
		open = append(open, conn)
		return conn, err
	}
	return config, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			if conn != nil {
				_ = conn.Close()
			}
		}
		open = nil
	}
}

// watches is how many watches of the replies there were.
func (r *replies) watches() int {
	n := 0
	for _, event := range r.server.Audit() {
		if event.Verb == "watch" && event.Name == r.name+"-reached" {
			n++
		}
	}
	return n
}

func repliesAreFollowedAfterACut(t *testing.T, r *replies) {
	two := r.elector(r.server.Config(), "two")
	want(t, two.Reply(t.Context(), "two", "first", all))
	config, cut := r.cuttable()
	lines := r.follow(r.elector(config, "leader"))
	lines.wait(map[string]string{"two": "first"})
	for i := range 5 {
		before := r.watches()
		cut()
		for limit := time.Now().Add(waitTimeout); r.watches() == before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatal("no new watch after a cut")
			}
		}
		text := fmt.Sprint(i)
		want(t, two.Reply(t.Context(), "two", text, all))
		lines.wait(map[string]string{"two": text})
	}
	if got := len(lines.all); got > 6 {
		t.Errorf("got told %d times, want once of each change: %v", got, lines.all)
	}
}

// A leader and a standby that ask nothing make no request for the second Lease.
func nothingOfRepliesAtRest(t *testing.T, r *replies) {
	c := &contest{t: t, server: r.server, name: r.name}
	leader := c.ours("one-of-" + r.name)
	c.wait("the leader leads", leader.leads)
	standby := c.ours("two-of-" + r.name)
	c.keeps(leader, standby)
	updates, others := 0, map[string]int{}
	for _, event := range r.server.Audit() {
		switch {
		case strings.Contains(event.Path, r.name+"-reached"):
			t.Errorf("got a request: %+v", event)
		case event.Name == r.name && event.Verb == "update":
			updates++
		case event.Name == r.name || strings.Contains(event.Path, r.name):
			others[event.Verb]++
		}
	}
	lasted := int((lease.LeaseDuration + lease.RetryPeriod) / lease.RetryPeriod)
	if updates < lasted-2 || updates > lasted+1 {
		t.Errorf("got %d renewals, want about %d", updates, lasted)
	}
	// Both list, and one watches.
	if others["list"] != 2 || others["watch"] != 1 {
		t.Errorf("got %v beside the renewals, want two lists and a watch", others)
	}
}

// Whatever is written, the server takes it.
func repliesAreBounded(t *testing.T, r *replies) {
	e := r.elector(r.server.Config(), "two")
	long := strings.Repeat("x", 64<<10)
	want(t, e.Reply(t.Context(), "too-long", "short", all))
	want(t, e.Reply(t.Context(), "too-long", long+"x", all))
	if got := r.get().Annotations; len(got) != 0 {
		t.Errorf("got %d lines, want none that is too long", len(got))
	}
	for i := range 5 {
		want(t, e.Reply(t.Context(), fmt.Sprintf("long-%d", i), long, all))
	}
	lines, err := e.ReadReplies(t.Context())
	want(t, err)
	if _, own := lines["long-4"]; !own || len(lines) != 3 {
		t.Errorf("got %v, want the newest line and two others", slices.Sorted(maps.Keys(lines)))
	}
	edited := r.get()
	edited.Annotations = map[string]string{replyPrefix + "two": "short", replyPrefix + "other": long + "x"}
	_, err = r.admin.CoordinationV1().Leases("default").Update(t.Context(), edited, metav1.UpdateOptions{})
	want(t, err)
	want(t, e.Reply(t.Context(), "two", "short", all))
	if got := r.get().Annotations; len(got) != 1 {
		t.Errorf("got %d lines, want the one that is not too long", len(got))
	}
	for i := range 20 {
		want(t, e.Reply(t.Context(), fmt.Sprintf("replica-%02d", i), "short", func(text, _ string) bool { return text == "short" }))
	}
	lines, err = e.ReadReplies(t.Context())
	want(t, err)
	if _, own := lines["replica-19"]; !own || len(lines) != 16 {
		t.Errorf("got %v, want sixteen lines with the newest", slices.Sorted(maps.Keys(lines)))
	}
	for _, odd := range []string{"", "..", "a b/c", "Ümlaut", strings.Repeat("n", 300)} {
		if err := e.Reply(t.Context(), odd, "odd", func(string, string) bool { return false }); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
	}
}

func TestTheKeyOfAReplicaIsAName(t *testing.T) {
	seen := map[string]string{}
	for _, replica := range []string{
		"", ".", "-a", "a-", "a", "web-7d9f_ABC", "a b", "a/b", "ü", strings.Repeat("n", 63), strings.Repeat("n", 64),
		strings.Repeat("n", 64) + "m", strings.Repeat("n", 45) + strings.Repeat(".", 40), "/", "//", "日本",
	} {
		key := lease.ReplyKey(replica)
		if wrong := validation.IsQualifiedName(replyPrefix + key); len(wrong) > 0 {
			t.Errorf("%q: got %q: %v", replica, key, wrong)
		}
		if before, twice := seen[key]; twice {
			t.Errorf("%q and %q have the key %q", before, replica, key)
		}
		seen[key] = replica
	}
	if got := lease.ReplyKey("web-7d9f_ABC"); got != "web-7d9f_ABC" {
		t.Errorf("got %q, want a name that is fit as it is", got)
	}
}
