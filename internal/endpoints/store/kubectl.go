package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// KubectlOptions says which kubectl to run, and what for.
type KubectlOptions struct {
	Target publish.Target
	// Path is the program: a path, or a name to look up in the PATH of Environ;
	// "kubectl" by default.
	Path string
	// Environ returns the whole environment of the program, as NAME=value, with
	// KUBECONFIG where it is needed. It is called for every run.
	Environ func() ([]string, error)
}

// Kubectl keeps the slices of one target. Its methods may be called at the same
// time.
type Kubectl struct {
	options KubectlOptions
	runner  system.Runner

	mu sync.Mutex
	// known are the slices as they were last seen: what a write starts from.
	known map[string]*discoveryv1.EndpointSlice // never changed in place
	// written are the slices that a write changed since the last Load began: its
	// answer may be from before.
	written map[string]*discoveryv1.EndpointSlice
	// asked are the slices that the next Load asks for by name, because a write
	// failed or because no selector finds them.
	asked map[string]struct{}
}

// NewKubectl returns a store that does nothing until it is asked.
func NewKubectl(options KubectlOptions) (*Kubectl, error) {
	if options.Environ == nil {
		return nil, errors.New("kubectl store: no environment is given")
	}
	if options.Target.SliceName == "" || options.Target.Service == "" || options.Target.ManagedBy == "" {
		return nil, errors.New("kubectl store: the target has no slice name, Service or managed-by value")
	}
	options.Path = cmp.Or(options.Path, "kubectl")
	return &Kubectl{
		options: options,
		known:   make(map[string]*discoveryv1.EndpointSlice),
		asked:   make(map[string]struct{}),
		written: make(map[string]*discoveryv1.EndpointSlice),
	}, nil
}

// Load asks the server for the Service and the slices.
func (s *Kubectl) Load(ctx context.Context) (publish.State, error) {
	asked := s.takeAsked()
	state, err := s.load(ctx, asked)
	if err != nil {
		s.ask(asked...)
	}
	return state, err
}

func (s *Kubectl) load(ctx context.Context, asked []string) (publish.State, error) {
	target := s.options.Target
	s.mu.Lock()
	clear(s.written)
	s.mu.Unlock()
	service, err := s.getService(ctx)
	if err != nil {
		return publish.State{}, fmt.Errorf("read Service %s/%s: %w", target.Namespace, target.Service, err)
	}
	selected, err := s.getSlices(ctx)
	if err != nil {
		return publish.State{}, fmt.Errorf("read the slices of Service %s/%s: %w", target.Namespace, target.Service, err)
	}
	found := make(map[string]*discoveryv1.EndpointSlice, len(selected))
	for i := range selected {
		found[selected[i].Name] = &selected[i]
	}
	if names := s.missing(found, asked); len(names) > 0 {
		objects, err := s.getNamed(ctx, names)
		if err != nil {
			return publish.State{}, fmt.Errorf("read %d slices of namespace %s, from %s to %s: %w", len(names), target.Namespace, names[0], names[len(names)-1], err)
		}
		for i := range objects {
			found[objects[i].Name] = &objects[i]
		}
	}
	s.mu.Lock()
	for name, object := range s.written {
		if found[name] == nil || older(found[name], object) {
			found[name] = object
		}
	}
	s.known = maps.Clone(found)
	maps.DeleteFunc(s.known, func(name string, _ *discoveryv1.EndpointSlice) bool {
		_, _, ours := target.ParseName(name)
		return !ours // and only looked at
	})
	s.mu.Unlock()
	return publish.StateOf(service, slices.Collect(maps.Values(found)), target), nil
}

// Write carries out one write by one run of kubectl, which prints what the server
// answered, and returns the version in it. The error wraps publish.ErrConflict when the
// slice is not what the write was computed from, publish.ErrUnavailable when kubectl says
// that the server is, and publish.ErrStoredOtherwise when that stored something else.
func (s *Kubectl) Write(ctx context.Context, write publish.Write) (version string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name := write.Slice.Name
	s.mu.Lock()
	base := s.known[name]
	s.mu.Unlock()
	answer, err := s.send(ctx, base, write)
	if err != nil {
		s.ask(name)
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[name], s.written[name] = answer, answer
	return answer.ResourceVersion, publish.Stored(answer, write, s.options.Target)
}

func (s *Kubectl) send(ctx context.Context, base *discoveryv1.EndpointSlice, write publish.Write) (*discoveryv1.EndpointSlice, error) {
	if err := publish.Fence(base, write, s.options.Target); err != nil {
		return nil, err
	}
	document, err := json.Marshal(publish.Apply(base, write, s.options.Target))
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	verb := "create"
	if write.Operation == publish.Update {
		verb = "replace"
	}
	// The manifest comes from the API's own types, so validation would only
	// fetch the schema again at every run.
	output, err := s.run(ctx, document, verb, "--filename=-", "--output=json", "--validate=false", "--field-manager="+fieldManager)
	if err != nil {
		return nil, explain(write.Operation, err)
	}
	answer := &discoveryv1.EndpointSlice{}
	return answer, decode(output, answer)
}

// older reports whether a was read before b was written.
func older(a, b *discoveryv1.EndpointSlice) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order < 0
}

// missing returns the names to ask for, sorted: those that the
// selector does not find although they were to be asked for, or although they
// were there at the last Load. They are gone, or have lost their label, which
// must not look the same.
func (s *Kubectl) missing(found map[string]*discoveryv1.EndpointSlice, asked []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.AppendSeq(slices.Clone(asked), maps.Keys(s.known))
	names = slices.DeleteFunc(names, func(name string) bool { return found[name] != nil })
	slices.Sort(names)
	return slices.Compact(names)
}

// ask lets the next Load ask for the slices by name.
func (s *Kubectl) ask(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.asked[name] = struct{}{}
	}
}

// takeAsked returns the names to ask for and forgets them.
func (s *Kubectl) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Collect(maps.Keys(s.asked))
	clear(s.asked)
	return names
}

const (
	// fieldManager is what the server notes as the origin of a write.
	fieldManager = "ionos-endpointslice-controller"
	// kubectlTimeout bounds one run, within the caller's own deadline.
	kubectlTimeout = 15 * time.Second
	// maxOutput is room for about fifty slices of a thousand endpoints.
	maxOutput = 32 << 20
)

// run runs kubectl in the target's namespace and returns its standard output.
func (s *Kubectl) run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	env, err := s.options.Environ()
	if err != nil {
		return nil, fmt.Errorf("environment of kubectl: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, kubectlTimeout)
	defer cancel()
	args = append(args, "--namespace="+s.options.Target.Namespace)
	if !inPod(env) {
		args = append(args, "--request-timeout="+requestTimeout(ctx))
	}
	output, err := s.runner.Run(ctx, system.Command{
		Path: s.options.Path, Args: args, Env: env, Stdin: stdin, MaxOutput: maxOutput,
	})
	if err != nil {
		return nil, judge(err)
	}
	return output.Stdout, nil
}

// requestTimeout is what is left until the deadline, which there is, in whole milliseconds.
// When kubectl ends a request itself it says why; when it is killed it does not.
func requestTimeout(ctx context.Context) string {
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline) * 9 / 10
	return max(left.Truncate(time.Millisecond), time.Millisecond).String()
}

// inPod reports whether kubectl uses the ServiceAccount of its Pod. It does so only
// while nothing is configured; with a time-out it would ask localhost:8080.
func inPod(env []string) bool {
	set := func(name string) bool {
		return slices.ContainsFunc(env, func(entry string) bool {
			value, ok := strings.CutPrefix(entry, name+"=")
			return ok && value != ""
		})
	}
	return set("KUBERNETES_SERVICE_HOST") && !set("KUBECONFIG")
}
