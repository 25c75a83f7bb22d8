package e2e_test

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

const notWritten = "slice not written"

// refused waits until the daemon says that a write was refused, with these words.
func (d *daemon) refused(words string) {
	d.world.t.Helper()
	if got := fmt.Sprint(d.says(notWritten)["error"]); !strings.Contains(got, words) {
		d.world.t.Errorf("got the error %s, want %q in it", got, words)
	}
}

// wantGrowingPauses demands that the pauses between tries of a refused write grow:
// they are random, up to 1, 2, 4, ... seconds.
func (w *world) wantGrowingPauses(verb string, during time.Duration) {
	w.t.Helper()
	tried := func() (n int) {
		for _, e := range w.cp.Audit() {
			if e.User == w.user && e.Resource == "endpointslices" && e.Verb == verb {
				n++
			}
		}
		return n
	}
	before := tried()
	<-time.After(during)
	if got, most := tried()-before, 4*int(during/time.Second); got > most {
		w.t.Errorf("got %d attempts in %s, want at most %d", got, during, most)
	}
}

// aPolicyRefusesWrites: admission denies what the daemon wants to write.
func aPolicyRefusesWrites(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	admission := w.client.AdmissionregistrationV1()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "freeze-" + w.namespace}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: ptr.To(admissionv1.Fail),
		Validations:   []admissionv1.Validation{{Expression: "false", Message: "slices are frozen"}},
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"discovery.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"endpointslices"}},
			}}},
		},
	}
	if _, err := admission.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy.Name}}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = policy.Name, []admissionv1.ValidationAction{admissionv1.Deny}
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	probe := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{}}
	w.until(func() bool {
		_, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	}, func() string { return "the policy does not take effect" })
	w.nodes[0].backends[0].kill()
	d.refused("slices are frozen")
	w.wantGrowingPauses("update", 10*time.Second)
	w.wantPublished(w.all())
	w.nodes[1].backends[0].kill()
	if err := admission.ValidatingAdmissionPolicyBindings().Delete(t.Context(), policy.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantPublished(w.all("down", "down"))
}

// aRightIsTaken away while the daemon runs, and given back.
func aRightIsTaken(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	bindings := w.client.RbacV1().RoleBindings(w.namespace)
	binding, err := bindings.Get(t.Context(), "daemon", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := bindings.Delete(t.Context(), "daemon", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	asked := authorizationv1.ResourceAttributes{Namespace: w.namespace, Group: "discovery.k8s.io", Resource: "endpointslices"}
	w.cp.AwaitRights(t, w.user, false, asked, "update")
	w.nodes[0].backends[0].kill()
	d.refused("forbidden")
	w.nodes[1].backends[0].kill()
	binding.ResourceVersion = ""
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantPublished(w.all("down", "down"))
}

// aQuotaIsUsedUp: no slice may be made.
func aQuotaIsUsedUp(t *testing.T, w *world) {
	quotas := w.client.CoreV1().ResourceQuotas(w.namespace)
	none := corev1.ResourceList{"count/endpointslices.discovery.k8s.io": resource.MustParse("0")}
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if _, err := quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := w.start()
	d.refused("exceeded quota")
	w.wantGrowingPauses("create", 5*time.Second)
	if err := quotas.Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantPublished(w.all())
}

// theNamespaceIsBeingDeleted: slices that are there can be changed, and none can
// be made.
func theNamespaceIsBeingDeleted(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	// This cluster has no controller that would empty it.
	if err := w.client.CoreV1().Namespaces().Delete(t.Context(), w.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	if err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Delete(t.Context(), "web-remote", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.refused("being terminated")
	w.wantGrowingPauses("create", 5*time.Second)
	d.wantStop()
}

// theSliceIsBeingDeleted: a finalizer keeps it, and as long as it is there it is
// kept right.
func theSliceIsBeingDeleted(t *testing.T, w *world) {
	w.start()
	w.wantPublished(w.all())
	client := w.client.DiscoveryV1().EndpointSlices(w.namespace)
	finalize := func(finalizers ...string) {
		w.until(func() bool {
			slice, err := client.Get(t.Context(), "web-remote", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			slice.Finalizers = finalizers
			_, err = client.Update(t.Context(), slice, metav1.UpdateOptions{})
			return err == nil
		}, func() string { return "the finalizers cannot be set" })
	}
	finalize("example.com/keep")
	if err := client.Delete(t.Context(), "web-remote", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := w.slices()[0].UID
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	finalize()
	w.until(func() bool { all := w.slices(); return len(all) == 1 && all[0].UID != before }, func() string { return "it is not made anew" })
	w.wantPublished(w.all("down"))
}

// theSliceIsDeletedByHand, again and again.
func theSliceIsDeletedByHand(t *testing.T, w *world) {
	w.start()
	w.wantPublished(w.all())
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	for range 2 {
		if err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Delete(t.Context(), "web-remote", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.wantPublished(w.all("down"))
	}
}

// aSliceHasAnotherFamily: a slice has our name and our label, but an address type
// that can never be ours.
func aSliceHasAnotherFamily(t *testing.T, w *world) {
	client := w.client.DiscoveryV1().EndpointSlices(w.namespace)
	odd := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "web-remote",
			Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "ionos-endpointslice-controller"},
		},
		AddressType: discoveryv1.AddressTypeIPv6, Endpoints: []discoveryv1.Endpoint{},
	}
	if _, err := client.Create(t.Context(), odd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := w.start()
	w.wantPublished(w.all())
	if got := fmt.Sprint(d.says("slice has another owner and is left alone")["message"]); !strings.Contains(got, "IPv6") {
		t.Errorf("got the message %s, want the family in it", got)
	}
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
}

// aWriteHangsAtTheEnd: SIGTERM comes while the API server does not answer a write.
func aWriteHangsAtTheEnd(t *testing.T, w *world) {
	d := hanging(w)
	d.wantStop()
}

// hanging returns a daemon whose write is not answered.
func hanging(w *world) *daemon {
	w.t.Helper()
	road, access := w.onRoad()
	d := w.start(access)
	w.wantPublished(w.all())
	road.close(swallowing)
	w.nodes[0].backends[0].kill()
	for d.says("endpoint changed")["to"] != "down" {
	}
	return d
}

// twiceEndsAtOnce: an operator who sends a second SIGTERM does not want to wait for
// the write.
func twiceEndsAtOnce(t *testing.T, w *world) {
	d := hanging(w)
	w.until(func() bool {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-d.done:
			return true
		default:
			return false
		}
	}, func() string { return "it does not end" })
	if how, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || how.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v, want by the second SIGTERM", d.cmd.ProcessState)
	}
	w.wantPublished(w.all())
}

// hangupIsLikeACrash: a daemon was started in a terminal, and the terminal is closed.
func hangupIsLikeACrash(t *testing.T, w *world) {
	// Under nohup the daemon would inherit that SIGHUP is ignored.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	d := w.start()
	w.wantPublished(w.all())
	before := w.writes()
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-d.done
	w.start().says("started from the slices")
	w.nodes[1].backends[0].kill()
	w.wantPublished(w.all("ready", "down"))
	w.wantWrites(before, 1)
}

func hangingPlugin() *clientcmdapi.ExecConfig {
	return &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", "exec sleep 600 2>/dev/null"}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}
}
