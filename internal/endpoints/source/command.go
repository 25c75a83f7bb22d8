package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// Command runs a program anew in every read, which need not be there before.
type Command struct {
	// Path is the program: a path, or a name to look up in the PATH of Environ.
	Path string
	// Args are its arguments, as the program is to see them.
	Args []string
	// Environ returns the whole environment of the program, as NAME=value. It
	// is called for every read, because secrets in it may have been rotated.
	Environ func() ([]string, error)

	runner system.Runner
}

// Read runs the program and returns the nodes that it prints. The program and
// all of its process group are gone when Read returns; while one of them cannot be
// killed, every Read is an error.
func (s *Command) Read(ctx context.Context) ([]inventory.Node, error) {
	env, err := s.Environ()
	if err != nil {
		return nil, fmt.Errorf("inventory command: %w", err)
	}
	output, err := s.runner.Run(ctx, system.Command{
		Path: s.Path, Args: s.Args, Env: env, MaxOutput: inventory.MaxBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("inventory command: %w", err)
	}
	nodes, err := inventory.Decode(output.Stdout)
	if err != nil {
		return nil, fmt.Errorf("inventory command: output of %q: %w%s",
			s.Path, withoutSecrets(err, output.Stdout, env), system.StderrNote(output.Stderr))
	}
	return nodes, nil
}

// withoutSecrets replaces an error about an output that holds a secret: the error
// may quote a part of it, which Redact would not recognize.
func withoutSecrets(err error, stdout []byte, env []string) error {
	if text := string(stdout); system.Redact(text, env) == text {
		return err
	}
	return errors.New("it is not an inventory, and is not quoted because it holds a secret of the environment; run the command by hand")
}
