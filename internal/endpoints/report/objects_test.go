package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// inAPI makes objects of the API server of all pools and bindings.
func (p *platform) inAPI() *platform {
	set := &p.Snapshot.Documents
	for _, t := range p.Snapshot.Plan.Targets {
		set.Entries = append(set.Entries, documents.Entry{
			Key:     documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: t.Namespace, Name: t.Service},
			Binding: &v1alpha1.EndpointBinding{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Service}},
		})
	}
	slices.SortFunc(set.Entries, func(a, b documents.Entry) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	for i := range set.Entries {
		set.Entries[i].Object, set.Entries[i].Reason = &documents.Object{UID: "u", Generation: 7}, v1alpha1.ReasonAccepted
	}
	return p
}

// saying are the conditions of one object, and its columns.
func saying(t *testing.T, m report.Process, key string) []string {
	t.Helper()
	all, _ := m.Statuses()
	for s := range all {
		if s.Key.String() != key {
			continue
		}
		conditions, lines := []metav1.Condition(nil), []string(nil)
		if s.Pool != nil {
			conditions, lines = s.Pool.Conditions, []string{fmt.Sprintf("%s %d nodes %d targets, generation %d", s.Pool.Source, s.Pool.Nodes, s.Pool.Services, s.Pool.ObservedGeneration)}
		} else {
			conditions, lines = s.Binding.Conditions, []string{fmt.Sprintf("%s %+v, generation %d", s.Binding.Ready, s.Binding.Endpoints, s.Binding.ObservedGeneration)}
		}
		for _, c := range conditions {
			if c.ObservedGeneration != 7 || c.Message == "" {
				t.Errorf("%s: got %+v, want its generation and a message", key, c)
			}
			lines = append(lines, c.Type+"="+string(c.Status)+" "+c.Reason)
		}
		if s.Early {
			lines = append(lines, "early")
		}
		return lines
	}
	return nil
}

const (
	webBinding = "EndpointBinding shop/web"
	bluePool   = "EndpointPool blue"
)

// objectCase is a change of a sound platform, and what one of its objects says then.
type objectCase struct {
	change func(*platform)
	object string
	want   []string
}

// objectCases have every reason of every condition.
func objectCases() map[string]objectCase {
	sound := []string{"3/3 {Ready:3 Draining:0 Down:0}, generation 7", "Accepted=True Accepted", "Programmed=True Programmed", "Ready=True EndpointsReady", "Held=False NotHeld"}
	blue := []string{"file 3 nodes 1 targets, generation 7", "Accepted=True Accepted", "SourceReady=True Read", "Held=False NotHeld"}
	change := func(list []string, at int, to string) []string {
		out := slices.Clone(list)
		out[at] = to
		return out
	}
	all := map[string]objectCase{
		"sound":          {func(*platform) {}, webBinding, sound},
		"sound pool":     {func(*platform) {}, bluePool, blue},
		"refused":        {func(p *platform) { p.refuse(v1alpha1.ReasonPoolNotAllowed) }, webBinding, change(sound, 1, "Accepted=False PoolNotAllowed")},
		"invalid":        {func(p *platform) { p.entry(webBinding).Reason = v1alpha1.ReasonInvalid }, webBinding, change(sound, 1, "Accepted=False Invalid")},
		"shadowed":       {func(p *platform) { p.shadow() }, webBinding, []string{" {Ready:0 Draining:0 Down:0}, generation 7", "Accepted=False Shadowed"}},
		"outdated":       {func(p *platform) { p.entry(bluePool).Reason = v1alpha1.ReasonOutdated }, bluePool, change(blue, 1, "Accepted=False Outdated")},
		"outside bounds": {func(p *platform) { p.entry(bluePool).Reason = v1alpha1.ReasonOutsideBounds }, bluePool, change(blue, 1, "Accepted=False OutsideBounds")},
		"a slice of another": {func(p *platform) {
			p.fill().State.Refused = []publish.Refusal{{Name: "web.blue", Message: "is managed by somebody"}}
		}, webBinding, change(sound, 1, "Accepted=False SliceOwnedByOther")},
		"write failed":   {func(p *platform) { p.fill().WriteErr = errors.New("exceeded quota") }, webBinding, change(sound, 2, "Programmed=False WriteFailed")},
		"pending":        {func(p *platform) { p.fill().Pending = 1 }, webBinding, change(sound, 2, "Programmed=False Pending")},
		"leaving":        {func(p *platform) { p.use().State, p.use().Message = assign.Leaving, "not allowed any more" }, webBinding, change(sound, 2, "Programmed=False Releasing")},
		"kept":           {func(p *platform) { p.use().State = assign.Kept }, webBinding, change(sound, 4, "Held=True ManyReleased")},
		"dry run":        {func(p *platform) { p.Snapshot.Plan.Targets[0].DryRun = true }, webBinding, []string{sound[0], sound[1], "Programmed=False DryRun", "Ready=False DryRun", sound[4]}},
		"fails open":     {func(p *platform) { *p = *web(p.t, failing(p.t)) }, webBinding, change(sound, 3, "Ready=True FailOpen")},
		"rejected":       {func(p *platform) { p.hold(guard.TooManyRemovals) }, webBinding, change(sound, 4, "Held=True InventoryRejected")},
		"pool rejected":  {func(p *platform) { p.hold(guard.TooManyRemovals) }, bluePool, change(blue, 3, "Held=True InventoryRejected")},
		"cut off":        {func(p *platform) { p.hold(guard.ProbesSilent) }, webBinding, change(sound, 4, "Held=True CutOff")},
		"nothing passes": {func(p *platform) { p.hold(guard.NothingPasses) }, webBinding, change(sound, 4, "Held=True NoEndpointReady")},
		"no pass":        {func(p *platform) { p.hold(guard.NothingPasses) }, bluePool, change(blue, 3, "Held=True NoEndpointReady")},
		"unused pool":    {func(p *platform) { p.unplan(); p.Snapshot.Groups = nil }, bluePool, []string{"file 0 nodes 0 targets, generation 7", blue[1], "SourceReady=Unknown NotRead", blue[3]}},
		"not read yet":   {func(p *platform) { p.Snapshot.Groups[0].State.Source.LastAttempt = time.Time{} }, bluePool, []string{"file 0 nodes 1 targets, generation 7", blue[1], "SourceReady=Unknown NotRead", blue[3], "early"}},
		"unread":         {func(p *platform) { p.unread(errors.New("token xyz")) }, bluePool, change(blue, 2, "SourceReady=False ReadFailed")},
		"unplaced": {func(p *platform) {
			p.follow(pool.PlacementStatus{LastErr: errors.New("forbidden"), LastSuccess: p.Now})
		}, bluePool, change(blue, 2, "SourceReady=False ReadFailed")},
		"unauthorized": {func(p *platform) { p.unread(inventory.Fault(inventory.ErrUnauthorized, errors.New("no"))) }, bluePool, change(blue, 2, "SourceReady=False Unauthorized")},
		"incomplete": {func(p *platform) {
			p.unread(fmt.Errorf("x: %w", inventory.Fault(inventory.ErrIncomplete, errors.New("no"))))
		}, bluePool, change(blue, 2, "SourceReady=False Incomplete")},
		"no credentials": {func(p *platform) { p.unread(&controller.MissingCredentials{Message: "no file token"}) }, bluePool,
			[]string{blue[0], "Accepted=False CredentialsMissing", "SourceReady=False ReadFailed", blue[3]}},
		"unusable pool":       {func(p *platform) { p.unusable() }, bluePool, []string{" 0 nodes 1 targets, generation 7", "Accepted=False OutsideBounds", "SourceReady=Unknown NotRead", blue[3]}},
		"of an unusable pool": {func(p *platform) { p.unusable(); p.use().State = assign.Kept }, webBinding, change(sound, 4, "Held=True Invalid")},
		"early":               {func(p *platform) { p.Snapshot.Groups[0].State.Decided = false }, webBinding, append(slices.Clone(sound), "early")},
	}
	for _, reason := range []string{v1alpha1.ReasonPortNotAllowed, v1alpha1.ReasonRemoteNamespaceNotAllowed, v1alpha1.ReasonHealthCheckPortAmbiguous, v1alpha1.ReasonLimitReached} {
		all["never filled: "+reason] = objectCase{func(p *platform) { p.unplan(); p.refuse(reason) }, webBinding,
			[]string{"0/0 {Ready:0 Draining:0 Down:0}, generation 7", "Accepted=False " + reason, "Programmed=False Pending", "Ready=False NoEndpointReady", sound[4]}}
	}
	for _, kind := range []publish.Kind{publish.ServiceMissing, publish.ServiceDeleting, publish.ServiceHasSelector, publish.ServiceExternalName, publish.PortMismatch} {
		all[string(kind)] = objectCase{func(p *platform) { p.fill().Problem = publish.Problem{Kind: kind, Message: "no slice is created"} }, webBinding,
			[]string{sound[0], "Accepted=False " + string(kind), "Programmed=False Pending", "Ready=False NoEndpointReady", sound[4]}}
	}
	return all
}

func TestContract83ConditionsSayWhatBecomesOfObjects(t *testing.T) {
	t.Parallel()
	for name, c := range objectCases() {
		p := web(t, good(t))
		c.change(p)
		if diff := cmp.Diff(c.want, saying(t, p.Process, c.object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		found, _ := p.Statuses()
		for s := range found {
			if text := fmt.Sprintf("%+v", s.Pool); strings.Contains(text, "xyz") {
				t.Errorf("%s: the status shows what a source said: %s", name, text)
			}
		}
	}
}

// web is a Service of a pool that came to that, both as objects of the API server.
func web(t testing.TB, status *report.Status) *platform {
	t.Helper()
	return newPlatform(t).pool("blue", status).target("shop", "web", "blue").inAPI()
}

// refuse lets no pool grant what the only Service asks for. unplan lets it never have been
// filled.
func (p *platform) refuse(reason string) {
	key := assign.Key{Namespace: "shop", Service: "web"}
	p.Snapshot.Plan.Refusals = []assign.Refusal{{Key: key, Pool: "red", Reason: reason, Message: "may not"}}
}

func (p *platform) unplan() { p.Snapshot.Plan.Targets, p.Snapshot.Targets = nil, nil }

// shadow lets a file have the binding too.
func (p *platform) shadow() {
	shadowed := *p.entry(webBinding)
	p.entry(webBinding).Object, p.entry(webBinding).Reason = nil, ""
	shadowed.Reason = v1alpha1.ReasonShadowed
	p.Snapshot.Documents.Shadowed = []documents.Entry{shadowed}
}

// entry is the entry of an object, fill and use are those of its only Service, hold lets
// the pool hold.
func (p *platform) entry(key string) *documents.Entry {
	for i := range p.Snapshot.Documents.Entries {
		if e := &p.Snapshot.Documents.Entries[i]; e.Key.String() == key {
			return e
		}
	}
	return nil
}

// unread lets the last read of the pool fail.
func (p *platform) unread(err error) { p.Snapshot.Groups[0].State.Source.LastErr = err }

// unusable takes the pool its good version, so that it is only checked.
func (p *platform) unusable() {
	e := p.entry(bluePool)
	e.Pool, e.OnlyChecked, e.Reason = nil, &v1alpha1.EndpointPool{}, v1alpha1.ReasonOutsideBounds
	p.Snapshot.Plan.Pools[0].Spec.Source = v1alpha1.PoolSource{}
}

func (p *platform) use() *assign.PoolUse { return &p.Snapshot.Plan.Targets[0].Uses[0] }

func (p *platform) hold(cause guard.Cause) {
	v := p.Snapshot.Groups[0].State.Verdict
	v.Mode, v.Cause = guard.Hold, cause
}

// Contract 84: the document of a target names the objects whose fields its messages name.
func TestContract84ATargetNamesTheDocumentsThatDecide(t *testing.T) {
	t.Parallel()
	p := newPlatform(t).pool("blue", good(t)).target("shop", "web", "blue")
	p.entry(bluePool).File, p.entry(bluePool).Line = "pools.yaml", 3
	if got := fmt.Sprint(p.one("shop", "web").DecidedBy); got != "[Service shop/web (API server) EndpointPool blue (pools.yaml:3)]" {
		t.Errorf("got %s", got)
	}
	p.inAPI()
	p.entry(bluePool).File, p.entry(bluePool).Line = documents.APIServer, 0
	p.entry(webBinding).File = documents.APIServer
	if got := fmt.Sprint(p.one("shop", "web").DecidedBy); got != "[EndpointBinding shop/web (API server) EndpointPool blue (API server)]" {
		t.Errorf("got %s", got)
	}
}

// Contract 83: a standby, and a process before its first plan, say nothing.
func TestContract83WhoSaysNothing(t *testing.T) {
	t.Parallel()
	p := web(t, good(t))
	standby := p.Process
	standby.Leader, standby.Election.Enabled = false, true
	if got, _ := standby.Statuses(); len(slices.Collect(got)) > 0 {
		t.Errorf("a standby says %v", got)
	}
	p.Snapshot.At = time.Time{}
	if got, _ := p.Statuses(); len(slices.Collect(got)) > 0 {
		t.Errorf("a process without a plan says %v", got)
	}
}

// Contract 83: slices that can be written go first; others hold up nothing.
func TestContract83OnlySlicesThatCanBeWrittenAreWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*platform)
		want   bool
	}{
		"nothing waits": {func(*platform) {}, false},
		"one waits":     {func(p *platform) { p.fill().Pending = 1 }, true},
		"one fails":     {func(p *platform) { p.fill().Pending, p.fill().WriteErr = 1, errors.New("forbidden") }, false},
		"a dry run":     {func(p *platform) { p.fill().Pending, p.Snapshot.Plan.Targets[0].DryRun = 1, true }, false},
	} {
		p := web(t, good(t))
		c.change(p)
		if _, busy := p.Statuses(); busy != c.want {
			t.Errorf("%s: got busy %v, want %v", name, busy, c.want)
		}
	}
}

func (p *platform) fill() *controller.FillState { return p.Snapshot.Targets[0].Fills[0].State }

// Contract 117: a message names the document before the field, for each node of a
// target.
func TestContract117MessagesNameTheDocument(t *testing.T) {
	t.Parallel()
	p := web(t, failing(t))
	text := fmt.Sprintf("%+v", p.one("shop", "web").Nodes)
	if !strings.Contains(text, "EndpointPool blue spec.") || strings.Contains(text, "(spec.") {
		t.Errorf("got %s", text)
	}
}

func TestContract209AcceptedSaysWhatTheBoundsDoNotGive(t *testing.T) {
	t.Parallel()
	p := web(t, good(t))
	p.entry(bluePool).Note = "spec.healthCheck.port=10256 is not open"
	all, _ := p.Statuses()
	for s := range all {
		if s.Pool != nil && !strings.HasSuffix(s.Pool.Conditions[0].Message, p.entry(bluePool).Note) {
			t.Errorf("got %+v, want the note", s.Pool.Conditions[0])
		}
	}
}
