package deploy_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

const (
	fleetFolder = "../../deploy/fleet"
	// fleetNamespace is that of the manifests of fleets, teamNamespace the one of an Envoy.
	fleetNamespace, teamNamespace = "infra", "shop"
	fleetName                     = "endpoint-views-fleet"
	envoyDigest                   = "envoyproxy/envoy@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// ofFleets are the objects of a file of deploy/fleet.
func ofFleets(t *testing.T, file string) []runtime.Object {
	t.Helper()
	return documents(t, read(t, filepath.Join(fleetFolder, file)))
}

// fleetChart is what Helm makes of a template of the chart, with all namespaces.
func fleetChart(t *testing.T, template string) []runtime.Object {
	t.Helper()
	home := t.TempDir()
	command := exec.CommandContext(t.Context(), built.Tool(t, "helm4"), "template", "endpoint-views", "../../helm/endpoint-views", "--namespace", fleetNamespace,
		"--set", "image.tag=0.1.0,namespaces={*},xds.enabled=true,fleet.enabled=true,certificates.by=job,fleet.envoyImage="+envoyDigest,
		"--show-only", "templates/"+template+".yaml")
	command.Env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home}
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, stderr.String())
	}
	return documents(t, string(out))
}

// TestContract131TheManifestsOfFleetsGrantAndRunWhatTheChartDoes compares rights, and what
// concerns the safety of the Pods.
func TestContract131TheManifestsOfFleetsGrantAndRunWhatTheChartDoes(t *testing.T) {
	type grant struct {
		Kind  string
		Rules []rbacv1.PolicyRule
		To    map[string]string
	}
	grants := func(objects []runtime.Object) []grant {
		var all []grant
		for _, object := range objects {
			switch typed := object.(type) {
			case *rbacv1.Role:
				all = append(all, grant{"Role", typed.Rules, nil})
			case *rbacv1.ClusterRole:
				to := map[string]string{}
				for key, value := range typed.Labels {
					if strings.HasPrefix(key, "rbac.authorization.k8s.io/") {
						to[key] = value
					}
				}
				all = append(all, grant{"ClusterRole", typed.Rules, to})
			}
		}
		// Helm sorts by the kind.
		slices.SortStableFunc(all, func(a, b grant) int { return strings.Compare(a.Kind, b.Kind) })
		return all
	}
	want := grants(fleetChart(t, "fleetroles"))
	if diff := cmp.Diff(want, grants(ofFleets(t, "rights.yaml"))); diff != "" || len(want) != 4 {
		t.Errorf("%d rights of the chart (-chart +deploy):\n%s", len(want), diff)
	}
	var chart *appsv1.Deployment
	for _, object := range fleetChart(t, "fleet") {
		if typed, ok := object.(*appsv1.Deployment); ok {
			chart = typed
		}
	}
	ours := stage.One[*appsv1.Deployment](t, ofFleets(t, "operator.yaml"))
	theirPod, ourPod := chart.Spec.Template.Spec, ours.Spec.Template.Spec
	theirs, container := theirPod.Containers[0], ourPod.Containers[0]
	// The chart says more often the same: the namespace of the Lease is that of the Pod.
	var names []string
	for _, variable := range theirs.Env {
		if !strings.HasPrefix(variable.Name, "FLEET_LEASE_") {
			names = append(names, variable.Name)
		}
	}
	var got []string
	for _, variable := range container.Env {
		got = append(got, variable.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("variables (-chart +deploy):\n%s", diff)
	}
	theirSafety, ourSafety := *theirs.SecurityContext, *container.SecurityContext
	theirSafety.Privileged, theirSafety.RunAsNonRoot, theirSafety.RunAsUser, theirSafety.RunAsGroup = nil, nil, nil, nil // as the Pod says
	for what, diff := range map[string]string{
		"replicas":             cmp.Diff(chart.Spec.Replicas, ours.Spec.Replicas),
		"security of the Pod":  cmp.Diff(theirPod.SecurityContext, ourPod.SecurityContext),
		"security":             cmp.Diff(theirSafety, ourSafety),
		"arguments":            cmp.Diff(theirs.Args, container.Args),
		"ports":                cmp.Diff(theirs.Ports, container.Ports),
		"resources":            cmp.Diff(theirs.Resources, container.Resources),
		"mounts":               cmp.Diff(theirs.VolumeMounts, container.VolumeMounts),
		"links to all Service": cmp.Diff(theirPod.EnableServiceLinks, ourPod.EnableServiceLinks),
	} {
		if diff != "" {
			t.Errorf("%s (-chart +deploy):\n%s", what, diff)
		}
	}
}

// newFleets is an API server with two namespaces that enforce the Pod Security Standard
// "restricted", and a copy of deploy/fleet in which the images are named.
func newFleets(t *testing.T) (w *world, dir string) {
	t.Helper()
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true, ControllerManager: true})
	client, err := kubernetes.NewForConfig(cp.Config())
	must(t, err)
	w = &world{&stage.Stage{CP: cp, Client: client, Kubelet: kubelet.Kubelet{Client: client, Server: cp.Address(), Program: built.Views(t)}}}
	for _, name := range []string{fleetNamespace, teamNamespace} {
		w.Namespace(t, name)
	}
	dir = t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(fleetFolder)))
	path := filepath.Join(dir, "operator.yaml")
	replace(t, path, `{name: FLEET_ENVOY_IMAGE, value: "`+placeholder+`"}`, `{name: FLEET_ENVOY_IMAGE, value: "`+envoyDigest+`"}`)
	must(t, os.WriteFile(path, []byte(strings.ReplaceAll(read(t, path), ":"+placeholder, ":v0.1.0")), 0o600))
	if strings.Contains(read(t, path), placeholder) {
		t.Fatal("operator.yaml: got a placeholder that this test does not know")
	}
	return w, dir
}

// team creates an Envoy in the team's namespace.
func (w *world) team(t *testing.T, name string) {
	t.Helper()
	text := `{"apiVersion":"fleet.ablmnzde.github.io/v1alpha1","kind":"Envoy","metadata":{"name":"` + name + `"},
		"spec":{"name":"` + name + `","configMapName":"` + name + `","listeners":[{"name":"http","port":80,"service":"web"}]}}`
	_, err := w.Client.CoreV1().RESTClient().Post().AbsPath("/apis/fleet.ablmnzde.github.io/v1alpha1/namespaces/"+teamNamespace+"/envoys").
		SetHeader("Content-Type", "application/json").Body([]byte(text)).DoRaw(t.Context())
	must(t, err)
	stage.Until(t, "the Pods of "+name, func() bool {
		list, err := w.Client.CoreV1().Pods(teamNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "fleet.ablmnzde.github.io/envoy=" + name})
		must(t, err)
		return len(list.Items) == 2
	})
	for _, get := range []func() error{
		func() error {
			_, err := w.Client.PolicyV1().PodDisruptionBudgets(teamNamespace).Get(t.Context(), name, metav1.GetOptions{})
			return err
		},
		func() error {
			_, err := w.Client.NetworkingV1().NetworkPolicies(teamNamespace).Get(t.Context(), name, metav1.GetOptions{})
			return err
		},
	} {
		stage.Until(t, "the other objects of "+name, func() bool {
			err := get()
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	stage.Until(t, "the status of "+name, func() bool {
		return strings.Contains(w.CP.Kubectl(t, "--namespace", teamNamespace, "get", "envoy", name, "--output", "jsonpath={.status.conditions[*].type}"), "Synced")
	})
}

// TestContract131TheOperatorRunsFromItsManifests applies the manifests as the how-to says,
// and runs both Pods with their ServiceAccount.
func TestContract131TheOperatorRunsFromItsManifests(t *testing.T) {
	w, dir := newFleets(t)
	for file, text := range map[string]string{"token": stage.Token, "ca.crt": string(w.CP.Config().CAData)} {
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	w.CP.Kubectl(t, "--namespace", fleetNamespace, "create", "secret", "generic", fleetName, "--from-file="+filepath.Join(dir, "token"), "--from-file="+filepath.Join(dir, "ca.crt"))
	w.CP.Kubectl(t, "apply", "--kustomize", dir)
	if again := w.CP.Kubectl(t, "apply", "--kustomize", dir); strings.Contains(again, "configured") || strings.Contains(again, "created") {
		t.Errorf("applied again: got\n%s", again)
	}
	w.CP.Kubectl(t, "wait", "--for=condition=Established", "--timeout=90s", "crd/envoys.fleet.ablmnzde.github.io")
	user := "system:serviceaccount:" + fleetNamespace + ":" + fleetName
	w.CP.AwaitRights(t, user, true, authorizationv1.ResourceAttributes{Group: "apps", Resource: "deployments", Namespace: teamNamespace}, "list", "watch", "create", "patch")
	w.CP.AwaitRights(t, user, true, authorizationv1.ResourceAttributes{Group: "coordination.k8s.io", Resource: "leases", Namespace: fleetNamespace}, "create")
	var pods []corev1.Pod
	stage.Until(t, "two Pods of the operator", func() bool {
		list, err := w.Client.CoreV1().Pods(fleetNamespace).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		pods = list.Items
		return len(pods) == 2
	})

	first := w.Kubelet.Start(t, &pods[0], nil)
	stage.Until(t, "the first operator acts", func() bool { return acts("http://127.0.0.1:8083/metrics") })
	second := w.Kubelet.Start(t, &pods[1], map[string]string{"METRICS_ADDRESS": "0.0.0.0:9083"})
	for _, path := range []string{"http://127.0.0.1:8083/livez", "http://127.0.0.1:8083/readyz", "http://127.0.0.1:9083/readyz"} {
		stage.Until(t, path, func() bool { return kubelet.Probe(path) })
	}
	w.team(t, "edge")
	if acts("http://127.0.0.1:9083/metrics") {
		t.Error("both operators act")
	}
	first.Stop(t)
	stage.Until(t, "the second operator acts", func() bool { return acts("http://127.0.0.1:9083/metrics") })
	w.team(t, "front")
	second.Stop(t)

	used := map[string]bool{}
	for _, e := range w.CP.Audit() {
		if e.User != user {
			continue
		}
		used[e.Verb+" "+e.Resource] = true
		if e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden {
			t.Errorf("denied: %+v", e)
		}
	}
	for _, want := range []string{"watch envoys", "create deployments", "create services", "create configmaps", "create networkpolicies", "create poddisruptionbudgets", "patch envoys", "update leases"} {
		if !used[want] {
			t.Errorf("got no request %q in %v: is the audit log that of this user?", want, used)
		}
	}
	for _, p := range []*kubelet.Process{first, second} {
		if strings.Contains(p.Log(), stage.Token) {
			t.Error("the token is in the log")
		}
	}
}

// acts reports whether an operator says that it holds the Lease.
func acts(metrics string) bool {
	client := http.Client{Timeout: stage.WaitTimeout}
	response, err := client.Get(metrics)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return err == nil && strings.Contains(string(text), "\nendpoint_views_fleet_leader 1\n")
}
