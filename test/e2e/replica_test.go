package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// The times that docs/design/contract.md and docs/how-to/run-two-replicas.md name.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	lostStatus    = 6
)

// team is several replicas in one world. Each has a user of its own, so the audit log
// shows which replica made a request.
type team struct {
	*world

	replicas []*replica
}

// replica is one process that takes part in the election.
type replica struct {
	*daemon

	user string
	// road is the replica's way to the API server.
	road *road
}

// newTeam grants the rights that docs/how-to/run-two-replicas.md names, and those of
// the store, to size replicas. None runs yet.
func newTeam(t *testing.T, w *world, size int) *team {
	t.Helper()
	tm := &team{world: w}
	w.env["LEADER_ELECTION"] = "true"
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "replica"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list", "watch", "update"},
			ResourceNames: []string{"ionos-endpointslice-controller", "ionos-endpointslice-controller-reached"}},
	}}
	if _, err := w.client.RbacV1().Roles(w.namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range size {
		r := &replica{user: fmt.Sprintf("%s-%c", w.user, 'a'+i), road: newRoad(t, w.cp.Address().String())}
		for _, name := range []string{"daemon", "replica"} {
			tm.bind(name, r.user)
		}
		for _, verb := range []string{"list", "watch", "update", "create"} {
			asked := authorizationv1.ResourceAttributes{Namespace: w.namespace, Group: "coordination.k8s.io", Resource: "leases"}
			if verb != "create" {
				asked.Name = "ionos-endpointslice-controller"
			}
			w.cp.AwaitRights(t, r.user, true, asked, verb)
		}
		tm.replicas = append(tm.replicas, r)
	}
	return tm
}

// bind gives the user a role.
func (tm *team) bind(role, user string) {
	tm.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role + "-" + user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user, APIGroup: rbacv1.GroupName}},
	}
	if _, err := tm.client.RbacV1().RoleBindings(tm.namespace).Create(tm.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		tm.t.Fatal(err)
	}
}

// environ is the environment of a replica. Its requests go by its road.
func (r *replica) environ(w *world) string {
	w.t.Helper()
	path := w.cp.UserKubeconfig(w.t, r.user)
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), w.cp.Address().String(), r.road.listener.Addr().String()))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return "KUBECONFIG=" + path
}

// run starts a replica.
func (tm *team) run(i int, changes ...string) *replica {
	tm.t.Helper()
	r := tm.replicas[i]
	r.daemon = tm.start(append(changes, r.environ(tm.world))...)
	return r
}

// lead starts all replicas, of which the first leads and has published.
func (tm *team) lead() *replica {
	tm.t.Helper()
	leader := tm.run(0)
	leader.says("leading")
	tm.wantPublished(tm.all())
	for i := range tm.replicas[1:] {
		tm.run(i + 1).says("standing by")
	}
	return leader
}

// successor waits until one of the replicas after the first leads, and returns
// it and since when it does.
func (tm *team) successor() (*replica, time.Time) {
	tm.t.Helper()
	var found *replica
	tm.until(func() bool {
		for _, r := range tm.replicas[1:] {
			if r.count("leading") > 0 {
				found = r
			}
		}
		return found != nil
	}, func() string { return "no replica took over" })
	return found, saidAt(tm.t, found.says("leading"))
}

// saidAt is the time of a log line.
func saidAt(t *testing.T, line map[string]any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(line["time"]))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// end waits until the process has ended by itself and returns its exit status.
func (r *replica) end() int {
	r.world.t.Helper()
	select {
	case <-r.done:
	case <-time.After(waitTimeout):
		r.world.t.Fatal("the replica does not end")
	}
	return r.cmd.ProcessState.ExitCode()
}

// requests returns what the replicas asked for.
func (tm *team) requests() []controlplane.AuditEvent {
	tm.t.Helper()
	return slices.DeleteFunc(tm.cp.Audit(), func(e controlplane.AuditEvent) bool {
		return !slices.ContainsFunc(tm.replicas, func(r *replica) bool { return r.user == e.User })
	})
}

// slicesWritten returns the attempts to write slices.
func (tm *team) slicesWritten() []controlplane.AuditEvent {
	tm.t.Helper()
	return slices.DeleteFunc(tm.requests(), func(e controlplane.AuditEvent) bool {
		return e.Resource != "endpointslices" || !e.Writes()
	})
}

// statuses returns the attempts to write what documents say of themselves.
func (tm *team) statuses() []controlplane.AuditEvent {
	tm.t.Helper()
	return ofStatuses(tm.requests())
}

// wantOneWriter demands that slices and statuses were written by the replica alone that
// had taken the lease last, and that there were that many attempts to write slices.
func (tm *team) wantOneWriter(writes int) {
	tm.t.Helper()
	holder, got := "", 0
	for _, e := range tm.requests() {
		switch {
		case e.Resource == "leases" && !strings.HasSuffix(e.Name, "-reached") && e.Writes() && e.Code < 300:
			holder = e.User
		case e.Writes() && (e.Resource == "endpointslices" || e.Subresource == "status"):
			if e.Resource == "endpointslices" {
				got++
			}
			if e.User != holder {
				tm.t.Errorf("got a write of %s while %s held the lease: %+v", e.User, holder, e)
			}
		}
	}
	if got != writes {
		tm.t.Errorf("got %d writes of slices, want %d: %+v", got, writes, tm.slicesWritten())
	}
}

// wantStandby demands that a replica asked only for the lease.
func (tm *team) wantStandby(r *replica) {
	tm.t.Helper()
	asked := 0
	for _, e := range tm.requests() {
		if e.User == r.user && e.Resource == "leases" {
			asked++
		} else if e.User == r.user {
			tm.t.Errorf("got a request of a standby: %+v", e)
		}
	}
	if asked == 0 {
		tm.t.Error("got no request of the standby, want some for the lease")
	}
}
