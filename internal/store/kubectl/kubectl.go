package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/process"
)

// maxOutput bounds what kubectl may print: thousands of endpoints fit well.
const maxOutput = 32 << 20

// Options says which kubectl to run, and what for.
type Options struct {
	Target plan.Target
	// Path is kubectl: a path, or a name to look up in the PATH of Environ.
	Path string
	// Environ returns the whole environment of kubectl, as NAME=value, with
	// KUBECONFIG where it is needed. It is called for every run.
	Environ func() ([]string, error)
}

// Store keeps the slices of one target. Its methods may be called at the same
// time, but wait for each other.
type Store struct {
	options Options

	mu sync.Mutex
	// known are the slices of our names as they were answered last; the objects
	// are never changed in place.
	known map[string]*discoveryv1.EndpointSlice
	// unsure are names that the selector may not show: those whose last write
	// failed, and slices that lost their label.
	unsure map[string]bool
}

// New returns a store that has not run anything yet.
func New(options Options) (*Store, error) {
	switch {
	case options.Path == "":
		return nil, errors.New("kubectl store: the program is empty; set KUBECTL_PATH")
	case options.Environ == nil:
		return nil, errors.New("kubectl store: no environment is given")
	case options.Target.SliceName == "" || options.Target.Service == "" || options.Target.ManagedBy == "":
		return nil, errors.New("kubectl store: the target has no slice name, Service or managed-by value")
	}
	return &Store{options: options, known: make(map[string]*discoveryv1.EndpointSlice), unsure: make(map[string]bool)}, nil
}

// Load asks for the Service and the slices.
func (s *Store) Load(ctx context.Context) (plan.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	service, err := s.service(ctx)
	if err != nil {
		return plan.State{}, err
	}
	known, err := s.slices(ctx)
	if err != nil {
		return plan.State{}, err
	}
	s.known = known
	return manifest.State(service, slices.Collect(maps.Values(known)), s.options.Target), nil
}

// service asks for the Service; one without a UID stands for none.
func (s *Store) service(ctx context.Context) (plan.Service, error) {
	target := s.options.Target
	out, err := s.run(ctx, nil, "get", "service", target.Service, "--ignore-not-found", "-o", "json")
	if err != nil || len(out) == 0 {
		return plan.Service{}, err
	}
	var object corev1.Service
	if err := json.Unmarshal(out, &object); err != nil {
		return plan.Service{}, fmt.Errorf("kubectl get service %s: decode the answer: %w", target.Service, err)
	}
	return manifest.ServiceOf(&object), nil
}

// slices asks for the slices of our names: those that the Service's label
// selects, and one by one those that it may not show.
func (s *Store) slices(ctx context.Context) (map[string]*discoveryv1.EndpointSlice, error) {
	selector := discoveryv1.LabelServiceName + "=" + s.options.Target.Service
	out, err := s.run(ctx, nil, "get", "endpointslices", "--selector", selector, "-o", "json")
	if err != nil {
		return nil, err
	}
	var list discoveryv1.EndpointSliceList
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("kubectl get endpointslices: decode the answer: %w", err)
	}
	known := make(map[string]*discoveryv1.EndpointSlice)
	for i := range list.Items {
		if _, _, ours := s.options.Target.ParseName(list.Items[i].Name); ours {
			known[list.Items[i].Name] = &list.Items[i]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.unsure)) {
		if known[name] == nil {
			if known[name], err = s.slice(ctx, name); err != nil {
				return nil, err
			}
		}
		if known[name] == nil || known[name].Labels[discoveryv1.LabelServiceName] == s.options.Target.Service {
			delete(s.unsure, name)
		}
		if known[name] == nil {
			delete(known, name)
		}
	}
	// A slice that vanished from the selection is either gone or has lost its
	// label: the second must not look like the first.
	for name := range s.known {
		if known[name] == nil {
			if err := s.lookFor(ctx, name, known); err != nil {
				return nil, err
			}
		}
	}
	return known, nil
}

// lookFor adds the slice of that name to known if it still exists.
func (s *Store) lookFor(ctx context.Context, name string, known map[string]*discoveryv1.EndpointSlice) error {
	object, err := s.slice(ctx, name)
	if err != nil || object == nil {
		return err
	}
	known[name], s.unsure[name] = object, true
	return nil
}

// slice asks for one slice, whatever its labels say; nil when there is none.
func (s *Store) slice(ctx context.Context, name string) (*discoveryv1.EndpointSlice, error) {
	out, err := s.run(ctx, nil, "get", "endpointslice", name, "--ignore-not-found", "-o", "json")
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return decode(out, name)
}

func decode(out []byte, name string) (*discoveryv1.EndpointSlice, error) {
	object := &discoveryv1.EndpointSlice{}
	if err := json.Unmarshal(out, object); err != nil {
		return nil, fmt.Errorf("decode kubectl's answer about slice %s: %w", name, err)
	}
	return object, nil
}

// verbs are the commands of kubectl that carry out a write: both fail when the
// slice is not what it is believed to be.
var verbs = map[plan.Operation]string{plan.Create: "create", plan.Update: "replace"}

// Write carries out one write by one run of kubectl. It wraps plan.ErrConflict
// when the slice is not what the write was computed from.
func (s *Store) Write(ctx context.Context, write plan.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := write.Slice.Name
	base := s.known[name]
	if err := manifest.Fence(base, write, s.options.Target); err != nil {
		s.unsure[name] = true
		return err
	}
	body, err := json.Marshal(manifest.Apply(base, write, s.options.Target))
	if err != nil {
		return fmt.Errorf("encode slice %s: %w", name, err)
	}
	out, err := s.run(ctx, body, verbs[write.Operation], "-f", "-", "-o", "json")
	if err != nil {
		s.unsure[name] = true
		return explain(write.Operation, err)
	}
	object, err := decode(out, name)
	if err != nil {
		s.unsure[name] = true
		return err
	}
	s.known[name] = object
	return nil
}

// explain turns kubectl's failure into ours: one that says that the slice is not
// what we believed is a conflict. kubectl prints the API server's reason in
// parentheses.
func explain(operation plan.Operation, err error) error {
	var exit *process.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	says := func(reason string) bool { return strings.Contains(exit.Stderr, "Error from server ("+reason+")") }
	if operation == plan.Create && says("AlreadyExists") || operation == plan.Update && (says("Conflict") || says("NotFound")) {
		return fmt.Errorf("%w: %w", plan.ErrConflict, err)
	}
	return err
}

// run runs kubectl in the target's namespace and returns what it printed.
func (s *Store) run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	environ, err := s.options.Environ()
	if err != nil {
		return nil, fmt.Errorf("environment of kubectl: %w", err)
	}
	args = append(args, "--namespace", s.options.Target.Namespace)
	if deadline, ok := ctx.Deadline(); ok {
		// So that kubectl says itself what it waited for.
		args = append(args, "--request-timeout", max(time.Until(deadline), time.Second).Truncate(time.Millisecond).String())
	}
	out, err := process.Run(ctx, process.Command{
		Path: s.options.Path, Args: args, Env: environ, Stdin: stdin, MaxOutput: maxOutput,
	})
	if err != nil {
		return nil, fmt.Errorf("kubectl %s %s: %w", args[0], args[1], err)
	}
	return out.Stdout, nil
}
