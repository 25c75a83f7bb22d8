package explain_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

//go:generate go test . -run TestTheReferenceOfEventsIsUpToDate -update

func TestTheReferenceOfEventsIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "events.md")
	want := noticesReference()
	golden.Check(t, path, want, "go generate ./internal/endpoints/explain")
}

// noticesReference returns docs/reference/events.md.
func noticesReference() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/endpoints/explain by "go generate ./internal/endpoints/explain". Do not edit. -->

# Events

The daemon reports what happened to the Service as Events on it:

` + "```sh" + `
kubectl -n NAMESPACE describe service SERVICE
kubectl -n NAMESPACE events --for service/SERVICE
` + "```" + `

An Event reports one thing that happened, with the actual values in its note. A state that lasts is reported once, and a steady state makes no Event. The log says the same. There are none in a dry run and none with ` + "`STORE_KIND=memory`" + `. The daemon needs the right to create ` + "`events`" + ` of ` + "`events.k8s.io`" + ` in the namespace of the Service; without it, and while the API server cannot be reached, it goes on without Events and logs that once.

With ` + "`DOCUMENTS_DIR`" + ` each Service has the Events about itself and its slices. What happens to a pool (` + "`SourceUnavailable`, `SourceRecovered`, `PlacementUnavailable`, `PlacementRejected`, `UnknownNode`, `PlacementRecovered`, `ReplicasDisagree`, `RemovalHeld`, `RemovalPending`, `RemovalAccepted`, `RemovalReleased`, `FailOpenEngaged`, `FailOpenCleared`" + `) is reported at the Services that use it, and the note begins with the name of the pool. A pool may have thousands of Services, so of each pool and reason at most 50 Services get it at once and then one in ten seconds; the first Service of each namespace comes before the second of any. Why a source or a remote Service cannot be read is in the log only: the error is for those who have its credentials.

Of one reason at most 25 Events come at once and then one in ten seconds. The next one says how many were left out.

| reason | type | when | what to do |
|---|---|---|---|
`)
	for _, doc := range noticeReasons() {
		kind := "Normal"
		if doc.Reason.Warning() {
			kind = "Warning"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", doc.Reason, kind, doc.When, doc.Remedy)
	}
	return b.String()
}

func TestEveryReasonOfAnEventIsExplained(t *testing.T) {
	want := append(constants(t, "notice.go", "NoticeReason"), constants(t, filepath.Join("..", "publish", "service.go"), "Kind")...)
	var got []string
	for _, doc := range noticeReasons() {
		got = append(got, string(doc.Reason))
		if doc.When == "" || doc.Remedy == "" {
			t.Errorf("%s is explained by nothing", doc.Reason)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons in the code and explained ones (-want +got):\n%s", diff)
	}
}

// constants returns the values of the constants of a type that a file declares.
func constants(t *testing.T, path, typeName string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if named, ok := spec.Type.(*ast.Ident); ok && named.Name == typeName {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s declares no constant of type %s", path, typeName)
	}
	return values
}

// noticeDoc explains one reason.
type noticeDoc struct {
	Reason explain.NoticeReason
	// When says what happened, Remedy what to do.
	When, Remedy string
}

// noticeReasons explains every reason.
func noticeReasons() []noticeDoc {
	return []noticeDoc{
		{explain.EndpointsUpdated, "slices were written; the note lists what was added, removed, changed and moved, with the new states", "nothing to do"},
		{explain.SourceUnavailable, "a read of the source failed, the first one or the first after one that succeeded; endpoints stay as they are and still follow their health checks", "see the error in the note; the source is asked again by itself"},
		{explain.SourceRecovered, "the source can be read again", "nothing to do"},
		{explain.PlacementUnavailable, "it cannot be read on which nodes Pods of the remote Service are; endpoints stay as they are and follow their health checks", "see the log: give the user of the kubeconfig list and watch of endpointslices and services in the namespace of the remote Service"},
		{explain.PlacementRejected, "for 30 s the remote Service has named no node, or less than half of those of before; endpoints without a Pod stay published while they pass their health checks", "look at the Service, its selector and its Pods in the remote cluster"},
		{explain.UnknownNode, "for five minutes a Pod of the remote Service has been on a node that the inventory does not list; Pods there get no traffic", "let the source list each node of the remote cluster"},
		{explain.PlacementRecovered, "the remote Service decides again which endpoints join and leave", "nothing to do"},
		{explain.ReplicasDisagree, "endpoints do not answer the leader, but a replica that stands by connects to them: they stay published. After a minute the lease moves to a replica that reaches them and all that the leader reaches", "check the network between the node of the leader and these endpoints"},
		{explain.StoreUnavailable, "the Service or its slices cannot be read, or what is known of them may be out of date: the watch is refused or silent. Health checks still decide, and changes are still written", "see the error in the note: give the daemon the right to list and watch services and endpointslices, or repair its connection to the API server"},
		{explain.StoreRecovered, "the Service and its slices can be read again", "nothing to do"},
		{explain.StoredOtherwise, "the API server stored something else than was sent: an admission policy or a webhook changes slices; the same is sent again ever more rarely, up to every 5 min, a change at once", "exempt slices with our managed-by label from the policy or webhook"},
		{explain.RemovalHeld, "the mode became Hold: an inventory was rejected because it would take too much away, or most endpoints are silent at once, or only endpoints that leave pass. What passes stays ready. The note says which of these it is, and what will be removed when", "check the source, or the network of this daemon; if the removal is meant, do what the note says"},
		{explain.RemovalPending, "the mode is Hold, and further rejected inventories will remove endpoints that are down; the note says how many, and when the first", "check whether these nodes are really gone: if not, repair the source before that time, or set EMPTY_RESULT_THRESHOLD=0"},
		{explain.RemovalAccepted, "EMPTY_RESULT_THRESHOLD rejected inventories in a row left endpoints out, and these were removed: they were down at each, or as many new ones pass; with HEALTH_CHECK_MODE=off all of them. The note lists them", "check whether these nodes are really gone; an endpoint comes back as soon as an inventory lists it and it passes"},
		{explain.RemovalReleased, "the mode Hold ended", "nothing to do"},
		{explain.FailOpenEngaged, "the mode became FailOpen: no endpoint passes its health check, and all that stay are published ready", "find out why every endpoint fails: the workload, its port, or the network between it and this daemon"},
		{explain.FailOpenCleared, "the mode FailOpen ended", "nothing to do"},
		{explain.NoticeReason(publish.ServiceMissing), "there is no Service of that name; its slices are left as they are", "create it without a selector, or correct TARGET_NAMESPACE and TARGET_SERVICE_NAME"},
		{explain.NoticeReason(publish.ServiceDeleting), "the Service is being deleted", "create it again when it is gone, if it is still wanted"},
		{explain.NoticeReason(publish.ServiceHasSelector), "the Service has a selector, so Kubernetes manages its endpoints itself", "remove spec.selector"},
		{explain.NoticeReason(publish.ServiceExternalName), "the Service is of type ExternalName, which has no endpoints", "make it ClusterIP, NodePort or LoadBalancer"},
		{explain.NoticeReason(publish.PortMismatch), "the Service has no port that fits TARGET_PORT or TARGET_PORTS", "correct the variable or the Service; the note lists its ports"},
		{explain.SliceOwnedByOther, "a slice has a name of this daemon, but belongs to another program or another Service; it is left alone", "see the note: set TARGET_ENDPOINTSLICE_NAME to another name, or delete the slice if its manager is not in use any more"},
		{explain.MirroredSliceFound, "a slice of another name publishes endpoints for the Service too, which this daemon does not check; often it mirrors a leftover Endpoints object", "wait until the slices of this daemon hold the ready endpoints that are needed; then label the Endpoints object `endpointslice.kubernetes.io/skip-mirror=true`, or do what the note says of another manager"},
		{explain.Invalid, "the annotations of the Service, its binding, or the document of a pool that fills it, are not valid; what was published before stays", "correct what the note names"},
		{explain.PoolNotAllowed, "the namespace may not use a pool of that name, or there is none: nothing is published from it", "correct the name, or ask the platform to name the namespace in `spec.allow` of the pool"},
		{explain.PortNotAllowed, "the pool does not allow the namespace a port of the endpoints or of the health check: nothing is published from it", "use an allowed port, or ask the platform to add it to `spec.allow` of the pool"},
		{explain.RemoteNamespaceNotAllowed, "the pool does not let the namespace follow Services of that namespace of the remote cluster, whether or not there are such: nothing is published from it", "remove `remoteService`, or ask the platform to name the remote namespace in `spec.allow[].remoteNamespaces` of the pool"},
		{explain.LimitReached, "the namespace has as many Services or distinct checks as the pool allows", "use the check of the pool, take the pool from a Service, or ask the platform for more"},
		{explain.HealthCheckPortAmbiguous, "the Service has not exactly one TCP port, so it is not clear which one to check", "set the port of the health check"},
		{explain.UnknownAnnotation, "the Service has an annotation that begins with `endpoints.ablmnzde.github.io/` and is not known; it has no effect", "the note names the one that may be meant"},
		{explain.BindingWins, "the Service has the annotation of a pool and an EndpointBinding: the binding counts", "remove one of them"},
		{explain.TrafficPolicyLocal, "with `externalTrafficPolicy` or `internalTrafficPolicy` `Local` a node uses only endpoints on itself, and remote endpoints are on no node of this cluster: connections are dropped.", "set it to Cluster"},
		{explain.TopologyIgnored, "`spec.trafficDistribution` or an annotation asks for near endpoints, which needs hints in every slice; it has no effect", "remove it"},
		{explain.FamilyUnused, "the Service lacks the address family of endpoints, so these are published but never used", "add the family to `spec.ipFamilies`, or leave the subnet out"},
		{explain.HeadlessPort, "the Service is headless, and its endpoints listen on another port than the Service's: clients choose the port themselves", "give both the same number"},
		{explain.TakesOverWithLess, "the documents of the Service name another pool, port, health check or remote Service, of which too few endpoints pass: those of before stay", "make more of the new endpoints pass, or do what the message says"},
	}
}
