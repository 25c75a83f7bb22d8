package chart_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

const (
	fleetSpace = "views-fleet"
	fleetTeam  = "views-team"
)

// anEnvoy is a fleet in the team's namespace.
const anEnvoy = `{"apiVersion":"fleet.ablmnzde.github.io/v1alpha1","kind":"Envoy","metadata":{"name":"edge","namespace":"` + fleetTeam + `"},
	"spec":{"name":"edge","configMapName":"edge","replicas":1,"listeners":[{"name":"http","port":80,"service":"web"}]}}`

// fleetRuns installs the operator and the certificates by the Job in a restricted namespace:
// the Job makes its Secrets and the operator a fleet, with the chart's rights and no others.
func fleetRuns(t *testing.T, c *cloud) {
	i := &installation{c, helms[1], fleetSpace}
	c.prepare(t, fleetSpace)
	c.prepare(t, fleetTeam)
	args := append([]string{viewsRelease, viewsDir, "--namespace", fleetSpace}, fleetOn("--set", "namespaces={"+fleetTeam+"},certificates.fleets[0].name="+fleetTeam+"/edge")...)
	i.helm(t, i.version, append([]string{"install"}, args...)...)
	run := i.Kubelet
	run.Program = built.Views(t)
	t.Run("Contract105 the Job makes the Secrets that are listed and may read no others", func(t *testing.T) { i.jobMakesSecrets(t, run) })
	t.Run("Contract107 the operator makes a fleet with the rights of the chart", func(t *testing.T) { i.operatorMakesAFleet(t, run) })
	i.helm(t, i.version, append([]string{"upgrade"}, args...)...)
	i.helm(t, i.version, "uninstall", viewsRelease, "--namespace", fleetSpace, "--wait")
	if _, err := i.Client.CoreV1().RESTClient().Get().AbsPath("/apis/fleet.ablmnzde.github.io/v1alpha1/namespaces/" + fleetTeam + "/envoys/edge").DoRaw(t.Context()); err != nil {
		t.Errorf("the Envoy went with the release: %v", err)
	}
}

// podsOf waits for the Pods of a component.
func (i *installation) podsOf(t *testing.T, component string, count int) []corev1.Pod {
	t.Helper()
	var found []corev1.Pod
	stage.Until(t, "the Pods of "+component, func() bool {
		list, err := i.Client.CoreV1().Pods(i.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component})
		if err != nil {
			t.Fatal(err)
		}
		found = list.Items
		return len(found) == count
	})
	return found
}

func (i *installation) jobMakesSecrets(t *testing.T, run kubelet.Kubelet) {
	pod := i.podsOf(t, "certificates", 1)[0]
	for range 2 {
		if out, err := run.Command(t, &pod, nil).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for name, namespace := range map[string]string{"endpoint-views-authority": fleetSpace, "endpoint-views-tls": fleetSpace, "endpoint-views-fleet": fleetSpace, "edge-xds": fleetTeam} {
		if _, err := i.Client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	user := "system:serviceaccount:" + fleetSpace + ":endpoint-views-certificates"
	granted := i.granted(t, user, fleetSpace, fleetTeam, "default")
	for _, right := range granted {
		named := strings.HasPrefix(right, "get secrets ") || strings.HasPrefix(right, "update secrets ")
		if !named && !strings.HasPrefix(right, "create secrets") || strings.Contains(right, `"default"`) {
			t.Errorf("the Job may %s", right)
		}
	}
	i.deniedNothing(t, user)
	cron, err := i.Client.BatchV1().CronJobs(fleetSpace).Get(t.Context(), "endpoint-views-certificates", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "now"}, Spec: cron.Spec.JobTemplate.Spec}
	if _, err := i.Client.BatchV1().Jobs(fleetSpace).Create(t.Context(), now, dry); err != nil {
		t.Errorf("a Job of the CronJob: %v", err)
	}
}

func (i *installation) operatorMakesAFleet(t *testing.T, run kubelet.Kubelet) {
	pod := i.podsOf(t, "fleet", 2)[0]
	operator := run.Start(t, &pod, nil)
	stage.Until(t, "/readyz", func() bool { return kubelet.Probe("http://127.0.0.1:8083/readyz") })
	if _, err := i.Client.CoreV1().RESTClient().Post().AbsPath("/apis/fleet.ablmnzde.github.io/v1alpha1/namespaces/"+fleetTeam+"/envoys").
		SetHeader("Content-Type", "application/json").Body([]byte(anEnvoy)).DoRaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	var made *appsv1.Deployment
	stage.Until(t, "the Deployment of the fleet", func() bool {
		var err error
		made, err = i.Client.AppsV1().Deployments(fleetTeam).Get(t.Context(), "edge", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	// The namespace of the team enforces the Pod Security Standard restricted, too.
	stage.Until(t, "the Pod of the fleet", func() bool {
		list, err := i.Client.CoreV1().Pods(fleetTeam).List(t.Context(), metav1.ListOptions{LabelSelector: "fleet.ablmnzde.github.io/envoy=edge"})
		return err == nil && len(list.Items) == 1
	})
	if init := made.Spec.Template.Spec.InitContainers; len(init) != 1 || !strings.HasSuffix(init[0].Image, ":0.1.0") {
		t.Errorf("got %v, want the image of the release", init)
	}
	operator.Stop(t)
	user := "system:serviceaccount:" + fleetSpace + ":endpoint-views-fleet"
	i.deniedNothing(t, user)
	for _, right := range i.granted(t, user, fleetSpace, fleetTeam, "default") {
		verb, rest, _ := strings.Cut(right, " ")
		if strings.Contains(rest, "secrets") || strings.HasPrefix(verb, "delete") || strings.Contains(right, `"default"`) {
			t.Errorf("the operator may %s", right)
		}
	}
}

// deniedNothing reads in the audit log that the rights were enough.
func (i *installation) deniedNothing(t *testing.T, user string) {
	t.Helper()
	events := slices.DeleteFunc(i.CP.Audit(), func(e controlplane.AuditEvent) bool { return e.User != user })
	if len(events) == 0 {
		t.Errorf("%s has sent no request", user)
	}
	for _, e := range events {
		if e.Code == 401 || e.Code == 403 {
			t.Errorf("denied: %+v", e)
		}
	}
}
