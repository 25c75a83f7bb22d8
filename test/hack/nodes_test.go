package hack_test

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func judgesNodes(t *testing.T, w *world) {
	for name, node := range map[string]struct {
		ready   corev1.ConditionStatus
		address string
		taint   string
	}{
		"good":    {corev1.ConditionTrue, "10.7.0.1", ""},
		"unready": {corev1.ConditionFalse, "10.7.0.2", ""},
		"outside": {corev1.ConditionTrue, "192.168.7.1", ""},
		"control": {corev1.ConditionTrue, "10.7.0.3", "node-role.kubernetes.io/control-plane"},
	} {
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name, Labels: map[string]string{"of": w.namespace}}}
		if node.taint != "" {
			object.Spec.Taints = []corev1.Taint{{Key: node.taint, Effect: corev1.TaintEffectNoSchedule}}
		}
		object.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: node.address}}
		object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: node.ready, Reason: "x"}}
		if _, err := w.client.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	check := w.script("check-secured-nodes.sh").with(map[string]string{
		"SECURED_KUBECONFIG": w.cp.Kubeconfig(t), "SECURED_SUBNET_CIDR": "10.7.0.0/24", "SOURCE_KIND": "static", "STATIC_NODES": "", "TARGET_PORT": "8080",
		"KUBECONFIG": "", "TARGET_NAMESPACE": "",
	})
	got := check.run(t).want(1, "remote cluster: context test, https://", "with SOURCE_KIND=kubernetes", "OutsideSubnet", "remedy: ").lacks("Traceback")
	for name, row := range map[string]string{
		"good": `yes +yes +10\.7\.0\.1 +yes`, "unready": `no +yes +10\.7\.0\.2 +yes`,
		"outside": `yes +yes +192\.168\.7\.1 +no`, "control": `yes +no +10\.7\.0\.3 +yes`,
	} {
		if !regexp.MustCompile(`(?m)^` + w.namespace + "-" + name + " +" + row + "$").MatchString(got.stdout) {
			t.Errorf("%s: got no row %s in\n%s", name, row, got.stdout)
		}
	}
	// With a selector the marks of a control plane do not count, and others are none.
	got = check.with(map[string]string{"SECURED_NODE_SELECTOR": "of=" + w.namespace + ",of!=x"}).run(t).want(1)
	if !regexp.MustCompile(`(?m)^` + w.namespace + `-control +yes +yes`).MatchString(got.stdout) {
		t.Errorf("got a selector that does not count:\n%s", got.stdout)
	}
	check.with(map[string]string{"SECURED_SUBNET_CIDR": "10.7.0.0/24,192.168.7.0/24", "SECURED_NODE_SELECTOR": "of=" + w.namespace}).run(t).want(0, "all is right")
	check.with(map[string]string{"SECURED_NODE_SELECTOR": "==="}).run(t).want(1, "SECURED_NODE_SELECTOR==== is refused", "remedy: ")
	check.with(map[string]string{"SECURED_KUBECTL_CONTEXT": "x"}).run(t).want(1, "no such context", "remedy: export SECURED_KUBECTL_CONTEXT=")
	check.with(map[string]string{"SECURED_KUBECONFIG": w.cp.UserKubeconfig(t, "nobody")}).run(t).want(1, "nodes cannot be read", "remedy: ")
	w.unchanged(t, "checking")
}
