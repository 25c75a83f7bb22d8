package chart_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// upgrade is one of the values, with which the new Pods never become ready.
type upgrade struct {
	before, after []string
	// joins says that a node that joins is added: nothing that the values say of it changed.
	joins bool
}

// upgrades are run by TestTheChartInstalled: after each upgrade the daemon of before, with its own
// configuration, works under the new Role and the new policy.
var upgrades = map[string]upgrade{
	"family":                  {[]string{"controller.securedSubnetCidr={10.0.0.0/16,fd00::/64}"}, []string{"controller.securedSubnetCidr={10.0.0.0/16,172.16.0.0/16}"}, false},
	"subnet":                  {nil, []string{"controller.securedSubnetCidr={172.16.0.0/16,10.0.0.3/32}"}, false},
	"port":                    {nil, []string{"controller.targetPort=9090"}, true},
	"ports":                   {[]string{"controller.targetPorts=http=8080"}, []string{"controller.targetPort=9090"}, true},
	"name":                    {[]string{"controller.targetEndpointsliceName=own"}, []string{"controller.targetEndpointsliceName=other"}, true},
	"number of slices":        {[]string{"controller.maxEndpointsPerSlice=1"}, []string{"controller.maxEndpointsPerSlice=1", "rbac.maxSlices=1"}, false},
	"Service":                 {nil, []string{"controller.targetServiceName=api"}, false},
	"manager":                 {nil, []string{"controller.targetManagedBy=another"}, false},
	"namespace":               {nil, []string{"controller.targetNamespace=former-elsewhere", "bounds.leaving={NAMESPACE}"}, false},
	"all at once":             {nil, []string{"controller.targetServiceName=api", "controller.targetManagedBy=another", "controller.targetPort=9090"}, false},
	"name without a policy":   {[]string{"admissionPolicy.enabled=false", "controller.maxEndpointsPerSlice=2"}, []string{"admissionPolicy.enabled=false", "controller.maxEndpointsPerSlice=2", "controller.targetEndpointsliceName=other", "rbac.formerSliceNames={web-remote,web-remote-2}"}, true},
	"family without a policy": {[]string{"admissionPolicy.enabled=false", "controller.securedSubnetCidr={10.0.0.0/16,fd00::/64}"}, []string{"admissionPolicy.enabled=false"}, false},
}

// oldSubnets and newSubnets are those of values that name none.
const oldSubnets, newSubnets = "10.0.0.0/16", "10.0.0.0/16,172.16.0.0/16"

// formerInventory are nodes with addresses of both families.
func formerInventory(t *testing.T, numbers ...int) string {
	t.Helper()
	type node struct {
		Name      string   `json:"name"`
		Addresses []string `json:"private_ips"`
		Ready     bool     `json:"ready"`
		Worker    bool     `json:"worker"`
	}
	var nodes []node
	for _, n := range numbers {
		nodes = append(nodes, node{fmt.Sprint("worker-", n), []string{fmt.Sprint("10.0.0.", n), fmt.Sprint("fd00::", n)}, true, true})
	}
	text, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// former is one installation before and after an upgrade.
type former struct {
	*installation
	daemon *kubelet.Process
}

// leaderOfBeforeWorks is contract 162.
func leaderOfBeforeWorks(t *testing.T, c *cloud) {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "former-elsewhere"}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, u := range upgrades {
		n++
		namespace := "former-" + strconv.Itoa(n)
		t.Run(name, func(t *testing.T) {
			c.prepare(t, namespace)
			f := &former{installation: &installation{c, helms[1], namespace}}
			f.helm(t, f.version, append([]string{"install", release, chartDir}, f.args(t, u.before, oldSubnets)...)...)
			f.daemon = f.Kubelet.Start(t, f.configured(t, f.args(t, u.before, oldSubnets)), nil)
			stage.Until(t, "three nodes", func() bool { return f.has(t, 1, 2, 3) })
			f.helm(t, f.version, append([]string{"upgrade", release, chartDir}, f.args(t, u.after, newSubnets)...)...)
			f.awaitUpgrade(t, u)
			f.inventory(t, 1, 3)
			stage.Until(t, "node 2 to be gone, and no other", func() bool { return f.has(t, 1, 3) })
			if u.joins {
				f.inventory(t, 3, 4)
				stage.Until(t, "node 4 in place of node 1", func() bool { return f.has(t, 3, 4) })
			}
			f.daemon.Stop(t)
			if name == "family" {
				f.familyLeaves(t)
			}
			f.helm(t, f.version, "uninstall", release, "--namespace", namespace)
		})
	}
}

// familyLeaves starts the new daemon, which takes away what has no subnet any more.
func (f *former) familyLeaves(t *testing.T) {
	t.Helper()
	daemon := f.Kubelet.Start(t, f.configured(t, f.args(t, upgrades["family"].after, newSubnets)), nil)
	stage.Until(t, "the endpoints of the family to leave", func() bool { return slices.Equal(f.Published(t, f.namespace), []string{"10.0.0.1", "10.0.0.3"}) })
	daemon.Stop(t)
}

// args are those of Helm.
func (f *former) args(t *testing.T, values []string, subnets string) []string {
	t.Helper()
	files, err := json.Marshal(map[string]string{"inventory.json": formerInventory(t, 1, 2, 3)})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--namespace", f.namespace, "--set", "image.tag=0.1.0,replicaCount=1,controller.sourceKind=file,controller.inventoryFilePath=/etc/ionos-endpointslice-controller/inventory.json",
		"--set", "controller.healthCheckMode=off,controller.sourcePollInterval=200ms,controller.drainPeriod=0s,controller.maxRemovalPercent=100,controller.securedSubnetCidr={" + subnets + "}",
		"--set-json", "files=" + string(files),
	}
	for _, value := range values {
		args = append(args, "--set", strings.ReplaceAll(value, "NAMESPACE", f.namespace))
	}
	return args
}

// environment is what the daemon gets.
func (f *former) environment(t *testing.T, args []string) map[string]string {
	t.Helper()
	return environment(daemonPod(t, documents(t, f.helm(t, f.version, append([]string{"template", release, chartDir}, args...)...))).Containers[0])
}

// configured waits for a Pod with the environment that these arguments make.
func (f *former) configured(t *testing.T, args []string) *corev1.Pod {
	t.Helper()
	want := f.environment(t, args)
	var found *corev1.Pod
	stage.Until(t, "a Pod of the values", func() bool {
		list, err := f.Client.CoreV1().Pods(f.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range list.Items {
			if fmt.Sprint(environment(pod.Spec.Containers[0])) == fmt.Sprint(want) {
				found = &pod
			}
		}
		return found != nil
	})
	return found
}

// inventory makes these the nodes that there are.
func (f *former) inventory(t *testing.T, numbers ...int) {
	t.Helper()
	maps := f.Client.CoreV1().ConfigMaps(f.namespace)
	files, err := maps.Get(t.Context(), release+"-files", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	files.Data["inventory.json"] = formerInventory(t, numbers...)
	if _, err := maps.Update(t.Context(), files, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.daemon.Renew(t)
}

// has reports whether these nodes are published, and no others.
func (f *former) has(t *testing.T, numbers ...int) bool {
	t.Helper()
	found := map[string]bool{}
	for _, address := range f.Published(t, f.namespace) {
		found[address[strings.LastIndexAny(address, ".:")+1:]] = true
	}
	for _, n := range numbers {
		if !found[strconv.Itoa(n)] {
			return false
		}
	}
	return len(found) == len(numbers)
}

// account is a client with the rights of the daemon's ServiceAccount.
func (f *former) account(t *testing.T) kubernetes.Interface {
	t.Helper()
	config := f.CP.Config()
	config.UserAgent = userAgent
	config.Impersonate = rest.ImpersonationConfig{UserName: f.user(), Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// awaitUpgrade waits until a slice as the new values want it is allowed and, where the
// policy is on, one as no values want it is not.
func (f *former) awaitUpgrade(t *testing.T, u upgrade) {
	t.Helper()
	env := f.environment(t, f.args(t, u.after, newSubnets))
	service := env["TARGET_SERVICE_NAME"]
	port, err := strconv.ParseInt(env["TARGET_PORT"], 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	number, portName := int32(port), "http"
	name, manager := env["TARGET_ENDPOINTSLICE_NAME"], env["TARGET_MANAGED_BY"]
	if name == "" {
		name = service + "-remote"
	}
	if manager == "" {
		manager = release
	}
	create := func(name, address string) error {
		s := slice(name, address)
		s.Labels[discoveryv1.LabelServiceName], s.Labels[discoveryv1.LabelManagedBy] = service, manager
		s.Ports = []discoveryv1.EndpointPort{{Name: &portName, Port: &number}}
		s.GenerateName = "" // a name that is there is refused later than by a policy
		_, err := f.account(t).DiscoveryV1().EndpointSlices(env["TARGET_NAMESPACE"]).Create(t.Context(), s, dry)
		if err != nil && strings.Contains(err.Error(), "already exists") {
			return nil
		}
		return err
	}
	// The subnets say which policy is in force: only that of the new values has this one.
	const refused = "ValidatingAdmissionPolicy"
	bound := !slices.Contains(u.after, "admissionPolicy.enabled=false")
	stage.Until(t, "the new policy", func() bool {
		right, wrong := create(name, "172.16.0.1"), create("none-of-ours", "10.0.0.3")
		return right == nil && (!bound || wrong != nil && strings.Contains(wrong.Error(), refused))
	})
}
