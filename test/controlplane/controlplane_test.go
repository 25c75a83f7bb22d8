package controlplane_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient closes its connections when the test ends.
func newClient(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// createTarget makes a selector-less Service and a slice for it.
func createTarget(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "web-remote",
			Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.11"}}},
	}
	if _, err := client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestAControlPlaneServesRecordsAndSurvivesARestart(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	config := cp.Config()
	config.UserAgent = "the-test"
	client := newClient(t, config)

	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(version.GitVersion, "v1.") {
		t.Errorf("the server calls itself %s, want a release", version.GitVersion)
	}
	createTarget(t, client)

	got := map[string]int{}
	for _, event := range cp.Audit() {
		if event.UserAgent == "the-test" && event.Writes() {
			got[event.User+" "+event.Verb+" "+event.Resource+" "+event.Namespace+"/"+event.Name]++
			if event.Code != http.StatusCreated {
				t.Errorf("%s %s: got status %d, want %d", event.Verb, event.Path, event.Code, http.StatusCreated)
			}
		}
	}
	for _, want := range []string{"admin create services default/web", "admin create endpointslices default/web-remote"} {
		if got[want] != 1 {
			t.Errorf("audit log: got %d of %q, want 1; all writes: %v", got[want], want, got)
		}
	}
	if len(got) != 2 {
		t.Errorf("audit log: got %d kinds of write, want 2: %v", len(got), got)
	}

	cp.Stop()
	if listener, err := net.Listen("tcp", cp.Address().String()); err == nil {
		listener.Close()
		t.Error("the port of the stopped server is free for others to take")
	}
	if _, err := client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{}); err == nil {
		t.Fatal("a stopped server answered")
	}
	cp.Start()
	slice, err := client.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "web-remote", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("after the restart: %v", err)
	}
	if got, want := slice.Endpoints[0].Addresses[0], "10.0.0.11"; got != want {
		t.Errorf("after the restart: got address %s, want %s", got, want)
	}
}

func TestAPausedControlPlaneAnswersOnlyWhenItIsResumed(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Options{})
	client := newClient(t, cp.Config())
	services := client.CoreV1().Services("default")

	cp.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := services.List(ctx, metav1.ListOptions{}); err == nil {
		t.Error("a paused server answered")
	}
	cp.Resume()
	if _, err := services.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("after Resume: %v", err)
	}
}

// holdVariable makes TestHold start a control plane and wait to be killed.
const holdVariable = "TEST_CONTROLPLANE_HOLD"

func TestHold(t *testing.T) {
	if os.Getenv(holdVariable) == "" {
		return // run by the next test only
	}
	cp := controlplane.Start(t, controlplane.Options{})
	fmt.Println("serving on", cp.Address())
	time.Sleep(startTimeout)
}

// startTimeout is for a control plane in another process, on a busy machine.
const startTimeout = 3 * time.Minute

func TestNothingOutlivesATestThatIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane is not started under -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestHold$")
	command.Env = append(os.Environ(), holdVariable+"=1", "TMPDIR="+t.TempDir())
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "serving on ")
	if !ok {
		t.Fatalf("got %q (%v), want an address", line, err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // killed
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		connection.Close()
		if time.Now().After(deadline) {
			t.Fatal("the API server outlived the test by a minute")
		}
	}
}

func TestAUserMayDoWhatRBACAllowsAndNothingElse(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Options{})
	admin := newClient(t, cp.Config())
	createTarget(t, admin)
	grantServiceReads(t, admin, "reader")

	user := newClient(t, cp.UserConfig("alice", "reader"))
	if _, err := user.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Errorf("a granted read: %v", err)
	}
	_, err := user.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a read that was not granted: got %v, want Forbidden", err)
	}

	got := kubectl(t, cp, cp.UserKubeconfig(t, "alice", "reader"), "get", "service", "web", "-o", "name")
	if want := "service/web"; got != want {
		t.Errorf("kubectl as the user: got %q, want %q", got, want)
	}
	got = kubectl(t, cp, cp.Kubeconfig(t), "get", "endpointslice", "web-remote", "-o", "name")
	if want := "endpointslice.discovery.k8s.io/web-remote"; got != want {
		t.Errorf("kubectl as administrator: got %q, want %q", got, want)
	}
}

func grantServiceReads(t *testing.T, client *kubernetes.Clientset, group string) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get"}}},
	}
	if _, err := client.RbacV1().Roles("default").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: group},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}
	if _, err := client.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func kubectl(t *testing.T, cp *controlplane.ControlPlane, kubeconfig string, args ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), cp.KubectlPath(), append([]string{"--kubeconfig", kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}
