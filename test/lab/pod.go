//go:build lab

package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// pod is one Pod of the kubelet.
type pod struct {
	t       testing.TB
	world   *World
	object  *corev1.Pod
	node    *corev1.Node
	machine string // network namespace
	address netip.Addr
	root    string // file system
	main    *process

	ending chan struct{} // closed when it is to end, within grace
	once   sync.Once
	grace  time.Duration
}

func newPod(w *World, object *corev1.Pod) *pod {
	return &pod{t: w.t, world: w, object: object, ending: make(chan struct{})}
}

// end lets the Pod end within a time; 0 is at once.
func (p *pod) end(grace time.Duration) {
	p.once.Do(func() {
		p.grace = grace
		close(p.ending)
	})
}

// run is the life of the Pod.
func (p *pod) run(ctx context.Context) {
	defer p.gone(ctx)
	if !p.bind(ctx) {
		return
	}
	p.plug()
	defer netns.Delete(p.t, p.machine)
	p.makeRoot()
	defer p.removeRoot()
	p.tell(ctx, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: p.container().Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
	}}})
	if !await(ctx, p.ending, func() error { return p.mount(ctx) }) || !p.initialize(ctx) {
		return
	}
	p.begin()
	p.probe(ctx)
	p.finish(ctx)
}

func (p *pod) container() *corev1.Container { return &p.object.Spec.Containers[0] }

// bind puts the Pod on a node, as soon as one has room.
func (p *pod) bind(ctx context.Context) bool {
	told := ""
	return await(ctx, p.ending, func() error {
		node, err := p.world.kubelet.choose(ctx, p)
		if err != nil {
			if text := err.Error(); text != told {
				told = text
				p.tell(ctx, unschedulable(text))
			}
			return err
		}
		return p.world.local.CoreV1().Pods(p.object.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.object.Namespace, Name: p.object.Name, UID: p.object.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
	})
}

// plug makes the machine.
func (p *pod) plug() {
	n := numbers.Add(1)
	p.machine = fmt.Sprintf("pod-%d", n)
	var onMgmt netip.Addr
	onMgmt, p.address = probers(n)
	netns.Add(p.t, p.machine)
	leg(p.t, p.machine, mgmt, onMgmt)
	leg(p.t, p.machine, data, p.address)
	p.world.answer(p.t, p.machine)
}

// initialize runs the init containers, one after the other.
func (p *pod) initialize(ctx context.Context) bool {
	for i := range p.object.Spec.InitContainers {
		c := &p.object.Spec.InitContainers[i]
		if err := p.execute(ctx, p.ending, time.Hour, append(commandOf(c), c.Args...)); err != nil {
			if ctx.Err() == nil && !p.isEnding() {
				p.t.Errorf("Pod %s: container %s: %v", p.object.Name, c.Name, err)
			}
			return false
		}
	}
	return true
}

// execute runs a command in the Pod to its end, for so long at the most.
func (p *pod) execute(ctx context.Context, until <-chan struct{}, most time.Duration, command []string) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-until: // nil waits for ever
			cancel()
		case <-done:
		}
	}()
	args := p.inside(command)
	run := exec.CommandContext(ctx, args[0], args[1:]...)
	if output, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", command, err, output)
	}
	return nil
}

// begin starts the container.
func (p *pod) begin() {
	c := p.container()
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	args := append(commandOf(c), c.Args...)
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom != nil {
			if v.ValueFrom.FieldRef == nil || v.ValueFrom.FieldRef.FieldPath != "metadata.name" {
				p.t.Errorf("Pod %s: variable %s: unforeseen source", p.object.Name, v.Name)
			}
			value = p.object.Name
		}
		env = append(env, v.Name+"="+value)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "$("+v.Name+")", value)
		}
	}
	p.main = start(p.t, p.object.Name, env, p.inside(args), false)
	p.main.shareLog()
}

// probe says that the Pod is ready when its probe says so, until it is to end.
func (p *pod) probe(ctx context.Context) {
	probe := p.container().ReadinessProbe
	ticker := time.NewTicker(time.Duration(probe.PeriodSeconds) * time.Second)
	defer ticker.Stop()
	p.ready(ctx, false)
	for ready, failures := false, int32(0); ; {
		switch passes := p.passes(ctx, probe); {
		case passes && !ready:
			ready = true
			p.ready(ctx, true)
		case passes:
			failures = 0
		default:
			if failures++; ready && failures >= probe.FailureThreshold {
				ready = false
				p.ready(ctx, false)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-p.ending:
			return
		case <-p.main.Done:
			if ctx.Err() == nil && !p.isEnding() {
				p.t.Errorf("Pod %s ended by itself: %v\n%s", p.object.Name, p.main.State(), p.main.Tail())
			}
			return
		case <-ticker.C:
		}
	}
}

// passes asks the probe, from the node.
func (p *pod) passes(ctx context.Context, probe *corev1.Probe) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(probe.TimeoutSeconds)*time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return netns.Dial(ctx, p.world.clients, network, address)
	}}}
	port := probe.HTTPGet.Port.IntVal
	for _, one := range p.container().Ports {
		if one.Name == probe.HTTPGet.Port.StrVal {
			port = one.ContainerPort
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%v:%d%s", p.address, port, probe.HTTPGet.Path), nil)
	if err != nil {
		p.t.Error(err)
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode >= 200 && response.StatusCode < 400
}

// finish ends the processes as a kubelet does: first what the Pod wants before, then a
// signal, and what is still there after the grace is killed.
func (p *pod) finish(ctx context.Context) {
	defer p.main.Kill()
	if !p.isEnding() {
		return
	}
	over := time.Now().Add(p.grace)
	if hook := p.container().Lifecycle; hook != nil && hook.PreStop != nil && !p.main.Ended() && p.grace > 0 {
		if err := p.execute(ctx, p.main.Done, p.grace, hook.PreStop.Exec.Command); err != nil && ctx.Err() == nil {
			p.t.Errorf("Pod %s: before its end: %v", p.object.Name, err)
		}
	}
	p.main.signal(syscall.SIGTERM)
	timer := time.NewTimer(time.Until(over))
	defer timer.Stop()
	select {
	case <-p.main.Done:
	case <-ctx.Done():
	case <-timer.C:
		p.t.Errorf("Pod %s is still there after its grace of %v", p.object.Name, p.grace)
	}
}

func (p *pod) isEnding() bool {
	select {
	case <-p.ending:
		return true
	default:
		return false
	}
}

// commandOf is the command of a container; without one it is that of the image of
// endpoint-views.
func commandOf(c *corev1.Container) []string {
	if len(c.Command) > 0 {
		return append([]string(nil), c.Command...)
	}
	return []string{"/" + programName}
}
