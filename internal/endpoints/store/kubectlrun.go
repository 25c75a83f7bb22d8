package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

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

// requestTimeout is what is left until the deadline, in whole milliseconds. When
// kubectl ends a request itself it says why; when it is killed it does not.
func requestTimeout(ctx context.Context) string {
	deadline, ok := ctx.Deadline()
	if !ok {
		return kubectlTimeout.String()
	}
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
