package targets_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// The carriers of documents.
const (
	files   = "files"
	objects = "objects"
)

const (
	// definitions has the CustomResourceDefinitions.
	definitions = "../../deploy/crds"
	// served is where the API server has the documents.
	served = "/apis/" + v1alpha1.APIVersion + "/"
	// settled is for how long no status was written before none is left to write. Two writes
	// of the same one are at least 5 s apart.
	settled = 7 * time.Second
)

// TestCarriers compares the same documents as files and as objects of the API server. The
// program also writes the status of objects.
func TestCarriers(t *testing.T) {
	f := chosen(t)
	w := newWorld(t, f)
	w.kubectl("", "apply", "--filename", definitions)
	w.kubectl("", "wait", "--for=condition=Established", "--timeout=90s", "--filename", definitions)
	for _, s := range f.carried {
		w.nodes.grow(s.endpoints)
		for _, carrier := range []string{files, objects} {
			program.Progress("%d bindings as %s, %d endpoints each", s.targets, carrier, s.endpoints)
			d := w.carry(s, carrier)
			d.awaitStatuses(0)
			d.restart()
			d.rest()
			for i := range f.rounds {
				node := i * 37 % s.endpoints
				d.statuses("Down", 1, func() { d.change("Down", node, "down", w.nodes.kill, s.all()-s.targets) })
				d.statuses("Up", 0, func() { d.change("Up", node, "ready", w.nodes.revive, s.all()) })
			}
			d.awaitQuiet()
			d.rest()
			d.Stop()
		}
	}
}

// kubectl runs kubectl as an administrator, with text on standard input.
func (w *world) kubectl(text string, args ...string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.api.KubectlPath(), args...)
	cmd.Env = []string{"HOME=" + w.t.TempDir(), "KUBECONFIG=" + w.api.Kubeconfig(w.t)}
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
}

// binding is the document of a Service.
func binding(g group, target int) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: web-%d, namespace: %s}\nspec: {pools: [{name: blue}]}\n",
		v1alpha1.APIVersion, v1alpha1.KindEndpointBinding, target, g.namespace(target))
}

// carry makes the Services and documents of a shape, and starts the program for the first
// time.
func (w *world) carry(s shape, carrier string) *daemon {
	w.t.Helper()
	g := group{s, carrier, perNamespace}
	w.make(g)
	w.services(g, nil, nil)
	all := []string{pool(s.endpoints, g.namespaces())}
	for i := range s.targets {
		all = append(all, binding(g, i))
	}
	if carrier == files {
		folder := w.t.TempDir()
		for i := 0; i < len(all); i += perNamespace {
			write(w.t, filepath.Join(folder, fmt.Sprintf("%d.yaml", i)), strings.Join(all[i:min(i+perNamespace, len(all))], "---\n"))
		}
		return w.first(g, "DOCUMENTS_DIR="+folder)
	}
	w.kubectl(all[0], "apply", "--filename", "-")
	w.each(s.targets, func(i int) error {
		path := served + "namespaces/" + g.namespace(i) + "/" + v1alpha1.ResourceEndpointBindings
		return w.client.Discovery().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/yaml").Body([]byte(all[i+1])).Do(w.t.Context()).Error()
	})
	return w.first(g, "DOCUMENTS_API=true", "BOUNDS_SUBNETS="+subnet, "BOUNDS_NAMESPACES="+strings.Join(g.namespaces(), ","), fmt.Sprintf("BOUNDS_PORTS=%d", port))
}

// awaitStatuses returns when every binding in the API server says that so many endpoints are
// down, and nothing is left to say.
func (d *daemon) awaitStatuses(down int) {
	d.w.t.Helper()
	if d.group.side != objects {
		return
	}
	for limit := time.Now().Add(longest); d.saying(down) < d.group.targets; time.Sleep(time.Second) {
		if time.Now().After(limit) {
			d.Fail("%d of %d bindings say that %d endpoints are down after %v", d.saying(down), d.group.targets, down, longest)
		}
	}
	d.awaitNone(settled, func(c counts) int { return c.statuses })
}

// saying is how many bindings say that so many endpoints are down.
func (d *daemon) saying(down int) int {
	d.w.t.Helper()
	text, err := d.w.client.Discovery().RESTClient().Get().AbsPath(served+v1alpha1.ResourceEndpointBindings).SetHeader("Accept", "application/json").Do(d.w.t.Context()).Raw()
	var list struct {
		Items []v1alpha1.EndpointBinding `json:"items"`
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		d.Fail("list the bindings: %v", err)
	}
	saying := 0
	for _, one := range list.Items {
		e := one.Status.Endpoints
		if strings.HasPrefix(one.Namespace, d.group.String()+"-") && int(e.Down) == down && int(e.Ready) == d.group.endpoints-down {
			saying++
		}
	}
	return saying
}

// statuses counts what is written about a change: early is what came before the last slice.
func (d *daemon) statuses(what string, down int, change func()) {
	d.w.t.Helper()
	began := time.Now()
	change()
	d.awaitStatuses(down)
	if d.group.side != objects {
		return
	}
	var slice time.Time
	var told []time.Time
	for _, e := range d.w.api.Audit() {
		switch {
		case e.User != d.group.String() || e.Received.Before(began):
		case e.Subresource == "status":
			told = append(told, e.Received)
		case e.Writes() && e.Resource == "endpointslices":
			slice = e.Received // they are in the order of their arrival
		}
	}
	early := 0
	for _, at := range told {
		if at.Before(slice) {
			early++
		}
	}
	program.Result(label("Status"+what, d.group.shape, objects), 1, told[len(told)-1].Sub(slice), "ns/op", float64(len(told))/float64(d.group.targets), "statuses/target", early, "early")
}
