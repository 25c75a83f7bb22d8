package hack_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// controller is the name of the Deployment.
const controller = "ionos-endpointslice-controller"

// world is one namespace of the cluster that all tests share.
type world struct {
	cp        *controlplane.ControlPlane
	client    kubernetes.Interface
	namespace string
	env       map[string]string
}

// TestTheScriptsAgainstACluster holds every test that needs the API server, so
// that one serves them all.
func TestTheScriptsAgainstACluster(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	for name, test := range map[string]func(*testing.T, *world){
		"SetImageSetsTheImageAndWaits":       setsTheImage,
		"SetImageSetsTheManifestFirst":       setsTheManifest,
		"SetImageSetsManifestAndCluster":     setsManifestAndCluster,
		"SetImageSetsAllOrNothing":           setsNoImage,
		"RestartRestartsAndWaits":            restarts,
		"LogsAsksForAllPods":                 asksForLogs,
		"ApplyOrderApplies":                  appliesInOrder,
		"ApplyOrderRefusesWhatIsNotEdited":   refusesPlaceholders,
		"VerifyFindsEachMistake":             findsMistakes,
		"MaintenanceCurlSumsUpAndRemoves":    sumsUpAnswers,
		"RecreateReplacesTheNode":            replacesTheNode,
		"RecreateChangesNothingUnlessAsked":  replacesNothing,
		"RecreateDeletesNoLastNode":          deletesNoLastNode,
		"CheckSecuredNodesJudgesEachNode":    judgesNodes,
		"AClusterThatDoesNotAnswerIsNamed":   namesADeadCluster,
		"WithoutTheObjectTheVariableIsNamed": namesTheVariable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, cp))
		})
	}
}

// newWorld makes a namespace that enforces the Pod Security Standard "restricted".
func newWorld(t *testing.T, cp *controlplane.ControlPlane) *world {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	space, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "hack-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{cp, client, space.Name, map[string]string{
		"KUBECONFIG": cp.Kubeconfig(t), "KUBECTL_PATH": cp.KubectlPath(), "TARGET_NAMESPACE": space.Name,
		"TARGET_SERVICE_NAME": "web", "SECURED_SUBNET_CIDR": "10.0.0.0/8", "CONTROLLER_BINARY": built.Program(t),
	}}
}

// script is a call of a script for this namespace.
func (w *world) script(name string, args ...string) script {
	return script{name: name, args: args, env: w.env}
}

// writes are the requests that changed something in the namespace, or at a node.
func (w *world) writes() (found []string) {
	for _, e := range w.cp.Audit() {
		if e.Writes() && strings.HasPrefix(e.UserAgent, "kubectl/") && e.Namespace == w.namespace && !strings.Contains(e.Path, "dryRun=All") {
			found = append(found, e.Verb+" "+e.Resource+" "+e.Name)
		}
	}
	return found
}

// unchanged fails the test if something was changed.
func (w *world) unchanged(t *testing.T, when string) {
	t.Helper()
	if got := w.writes(); len(got) > 0 {
		t.Errorf("%s: got the writes %v, want none", when, got)
	}
}

// deploy makes a Deployment like that of deploy/, smaller.
func (w *world) deploy(t *testing.T, containers ...string) {
	t.Helper()
	labels := map[string]string{"app": "controller", "part": "x"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: controller}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	for _, name := range containers {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: name, Image: name + ":v0"})
	}
	if _, err := w.client.AppsV1().Deployments(w.namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// play does again and again what a controller or kubelet would do, until the test ends.
func (w *world) play(t *testing.T, step func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			step(ctx)
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// rollOut reports each Deployment of the namespace as rolled out.
func (w *world) rollOut(t *testing.T) {
	w.play(t, func(ctx context.Context) {
		d, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, controller, metav1.GetOptions{})
		if err != nil || d.Status.ObservedGeneration == d.Generation {
			return
		}
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
		_, _ = w.client.AppsV1().Deployments(w.namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{}) // a conflict: the next step
	})
}

// deployment reads the Deployment.
func (w *world) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	d, err := w.client.AppsV1().Deployments(w.namespace).Get(t.Context(), controller, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func namesADeadCluster(t *testing.T, w *world) {
	text, err := os.ReadFile(w.env["KUBECONFIG"])
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(dead, []byte(strings.ReplaceAll(string(text), w.cp.Address().String(), "127.0.0.1:1")), 0o600); err != nil {
		t.Fatal(err)
	}
	w.script("restart-controller.sh").with(map[string]string{"KUBECONFIG": dead}).run(t).
		want(1, "cluster: context test, https://127.0.0.1:1", "does not answer", "remedy: ")
}

func namesTheVariable(t *testing.T, w *world) {
	for name, args := range map[string][]string{"restart-controller.sh": nil, "logs-controller.sh": nil} {
		w.script(name, args...).run(t).want(1, "cluster: context test, https://", "the Deployment cannot be read", "remedy: export CONTROLLER_NAMESPACE=")
	}
	for name, args := range map[string][]string{"verify-endpointslice.sh": nil, "run-maintenance-curl.sh": nil} {
		w.script(name, args...).run(t).want(1, "cluster: context test, https://", "the Service cannot be read", "remedy: export TARGET_NAMESPACE=")
	}
	w.script("apply-order.sh").with(map[string]string{"CONTROLLER_NAMESPACE": "no-such"}).run(t).
		want(1, "namespace no-such cannot be read", "remedy: kubectl create namespace no-such")
	w.unchanged(t, "without the objects")
}
