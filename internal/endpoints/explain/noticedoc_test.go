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
	path := filepath.Join("..", "..", "..", "docs", "reference", "reasons.md")
	want := noticesReference()
	golden.CheckPart(t, path, "## Events", "", want, "go generate ./internal/endpoints/explain")
}

// noticesReference returns the part of docs/reference/reasons.md about Events.
func noticesReference() string {
	var b strings.Builder
	b.WriteString(`## Events

The daemon reports what happened to the Service as Events on it:

` + "```sh" + `
kubectl -n NAMESPACE describe service SERVICE
kubectl -n NAMESPACE events --for service/SERVICE
` + "```" + `

An Event reports one thing that happened, with the actual values in its note. A state that lasts is reported once, and a steady state makes no Event. The log says the same. A dry run and ` + "`STORE_KIND=memory`" + ` make no Event. The daemon needs the right to create ` + "`events`" + ` of ` + "`events.k8s.io`" + ` in the namespace of the Service; without it, and while the API server cannot be reached, it goes on without Events and logs that once.

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
			t.Errorf("%s has no explanation", doc.Reason)
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
		{explain.EndpointsUpdated, "slices were written; the note lists the added, removed, changed and moved endpoints", "no action"},
		{explain.SourceUnavailable, "a read of the source failed; endpoints stay and are still checked", "see the error in the note"},
		{explain.SourceRecovered, "the source can be read again", "no action"},
		{explain.PlacementUnavailable, "the Pods of the remote Service cannot be read; endpoints stay", "give the kubeconfig's user list and watch of endpointslices and services"},
		{explain.PlacementRejected, "the remote Service named less than half of its nodes for 30 s; endpoints that pass stay", "check its selector and its Pods"},
		{explain.UnknownNode, "a Pod of the remote Service has been on a node outside the inventory for five minutes", "let the source list each node"},
		{explain.PlacementRecovered, "the remote Service decides again which endpoints join and leave", "no action"},
		{explain.ReplicasDisagree, "endpoints answer a replica that stands by and not the leader; they stay published", "check the network of the leader's node"},
		{explain.StoreUnavailable, "the Service or its slices cannot be read; checks and writes go on", "repair the right to watch them, or the connection"},
		{explain.StoreRecovered, "the Service and its slices can be read again", "no action"},
		{explain.StoredOtherwise, "the API server stored other values than were sent: a policy or webhook changed them", "exempt slices with our managed-by label from it"},
		{explain.RemovalHeld, "the mode became Hold: endpoints that would leave stay while they pass", "do what the note says: repair the source or the network"},
		{explain.RemovalPending, "further rejected inventories will remove endpoints that are down; the note says when", "if the nodes exist, repair the source before that time"},
		{explain.RemovalAccepted, "EMPTY_RESULT_THRESHOLD rejected inventories in a row removed endpoints; the note lists them", "check whether these nodes are really gone"},
		{explain.RemovalReleased, "the mode Hold ended", "no action"},
		{explain.FailOpenEngaged, "the mode became FailOpen: no endpoint passes, and all that stay are published ready", "check the workload, its port and the network"},
		{explain.FailOpenCleared, "the mode FailOpen ended", "no action"},
		{explain.NoticeReason(publish.ServiceMissing), "there is no Service of that name; its slices stay", "create it without a selector, or correct TARGET_NAMESPACE and TARGET_SERVICE_NAME"},
		{explain.NoticeReason(publish.ServiceDeleting), "the Service is being deleted", "create it again when it is gone, if it is still wanted"},
		{explain.NoticeReason(publish.ServiceHasSelector), "the Service has a selector, so Kubernetes manages its endpoints itself", "remove spec.selector"},
		{explain.NoticeReason(publish.ServiceExternalName), "the Service is of type ExternalName, which has no endpoints", "make it ClusterIP, NodePort or LoadBalancer"},
		{explain.NoticeReason(publish.PortMismatch), "the Service has no port that fits TARGET_PORT or TARGET_PORTS", "correct the variable or the Service; the note lists its ports"},
		{explain.SliceOwnedByOther, "a slice has a name of this daemon, and belongs to another program or Service", "set TARGET_ENDPOINTSLICE_NAME, or delete it if unused"},
		{explain.MirroredSliceFound, "another slice publishes unchecked endpoints for the Service, often a mirrored Endpoints object", "when our slices are ready, label the Endpoints object `endpointslice.kubernetes.io/skip-mirror=true`"},
		{explain.Invalid, "the annotations, the binding or the document of the pool are not valid; published endpoints stay", "correct what the note names"},
		{explain.PoolNotAllowed, "the namespace may not use that pool, or it does not exist", "correct the name, or ask for an entry in `spec.allow`"},
		{explain.PortNotAllowed, "the pool does not allow the namespace that port", "use an allowed port, or ask the platform for it in `spec.allow`"},
		{explain.RemoteNamespaceNotAllowed, "the pool does not let the namespace follow Services of that remote namespace", "remove `remoteService`, or ask for the remote namespace in `spec.allow[].remoteNamespaces`"},
		{explain.LimitReached, "the namespace has as many Services or distinct checks as the pool allows", "use the check of the pool, or ask for more"},
		{explain.HealthCheckPortAmbiguous, "the Service has several TCP ports or none, and no port to check is set", "set the port of the health check"},
		{explain.UnknownAnnotation, "an annotation that begins with `endpoints.ablmnzde.github.io/` is not known; it has no effect", "the note names the one that may be meant"},
		{explain.BindingWins, "the Service has the annotation of a pool and an EndpointBinding: the binding counts", "remove one of them"},
		{explain.TrafficPolicyLocal, "`externalTrafficPolicy` or `internalTrafficPolicy` is `Local`: connections to remote endpoints are dropped", "set it to Cluster"},
		{explain.TopologyIgnored, "`spec.trafficDistribution` or an annotation asks for near endpoints, which needs hints in every slice; it has no effect", "remove it"},
		{explain.FamilyUnused, "the Service lacks the address family of these endpoints, which are never used", "add the family to `spec.ipFamilies`, or leave the subnet out"},
		{explain.HeadlessPort, "the Service is headless, and its endpoints listen on another port than its own", "give both the same number"},
		{explain.TakesOverWithLess, "too few endpoints of the new pool, port or check pass; old ones stay", "make more pass, or do what the note says"},
	}
}
