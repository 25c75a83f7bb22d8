package hack_test

import (
	"context"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finish reports each Pod of the namespace as ended.
func (w *world) finish(t *testing.T, phase corev1.PodPhase, seen *corev1.Pod) {
	w.play(t, func(ctx context.Context) {
		pods, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(pods.Items) == 0 || pods.Items[0].Status.Phase == phase {
			return
		}
		pod := pods.Items[0]
		*seen = pod
		pod.Status.Phase = phase
		_, _ = w.client.CoreV1().Pods(w.namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{}) // deleted meanwhile, or the next step
	})
}

// noPods fails the test if a Pod was left behind: deletion takes a moment without a
// kubelet, but it must have been asked for.
func (w *world) noPods(t *testing.T) {
	t.Helper()
	pods, err := w.client.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			t.Errorf("Pod %s was left behind", pod.Name)
		}
	}
}

func sumsUpAnswers(t *testing.T, w *world) {
	w.service(t, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 81}}})
	good, _ := w.kubelet(t, "200 \n200 \n301 \n")
	bad, _ := w.kubelet(t, "200 \n000 Connection timed out\n503 \n")
	short, _ := w.kubelet(t, "200 \n")
	curl := func(kubectl string, args ...string) script {
		return w.script("run-maintenance-curl.sh", append([]string{"--requests", "3"}, args...)...).with(map[string]string{"KUBECTL_PATH": kubectl})
	}

	curl(good, "--dry-run").run(t).want(0, "kind: Pod", "http://web."+w.namespace+".svc:81/", "the script changed no object")
	w.unchanged(t, "dry run")
	curl(good, "--timeout", "1").run(t).want(1, "the Pod is Pending after 1 s", "remedy: ")
	w.noPods(t)

	var seen corev1.Pod
	w.finish(t, corev1.PodSucceeded, &seen)
	curl(good, "--path", "/healthz?a=1", "--port", "82", "--scheme", "https").with(map[string]string{"CURL_IMAGE": "registry.example/curl:1"}).run(t).
		want(0, "cluster: context test, https://", "2 200", "1 301", "3 of 3 requests succeeded")
	w.noPods(t)
	curl(bad).run(t).want(1, "1 200", "1 no answer: Connection timed out", "1 503", "1 of 3 requests succeeded", "remedy: ")
	w.noPods(t)
	// A Pod that ended before its time has not asked often enough.
	curl(short).run(t).want(1, "1 of 3 requests succeeded")
	w.noPods(t)

	space := "no-such"
	curl(good).with(map[string]string{"TARGET_NAMESPACE": space}).run(t).want(1, "the Service cannot be read")
	// The API server has seen it: the namespace enforces "restricted".
	var made int
	for _, written := range w.writes() {
		if strings.HasPrefix(written, "create pods ") {
			made++
		}
	}
	if made != 4 {
		t.Errorf("got %d Pods made, want 4", made)
	}
}

// What the Pod does is run here, with a curl that answers.
func TestThePodAsksAsOftenAsItIsTold(t *testing.T) {
	manifest, err := os.ReadFile(root + "/hack/run-maintenance-curl.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(manifest), "        - |\n")
	text, _, found := strings.Cut(rest, "        - curl\n")
	if !found {
		t.Fatal("the script of the Pod is not where it was")
	}
	path := fake(t, "curl", `for last; do :; done; printf '200 %s\n' "$last"`) + ":" + os.Getenv("PATH")
	got := script{path: path}.execute(t, "sh", "-c", strings.ReplaceAll(text, `\$`, "$"), "curl", "3", "0", "http://web/$(id)")
	if want := strings.Repeat("200 http://web/$(id)\n", 3); got.status != 0 || got.stdout != want {
		t.Errorf("got status %d and %q %s, want %q", got.status, got.stdout, got.stderr, want)
	}
}
