// Command ionos-endpointslice-controller keeps the EndpointSlices of a Service
// equal to the healthy worker nodes of another cluster.
package main

import (
	"context"
	"os"
	"syscall"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(run())
}

// run carries out the command line. The first SIGTERM or SIGINT stops the program
// in order, a second one at once.
func run() int {
	kube.Silence()
	ctx, stop := commandline.UntilSignal(context.Background(), os.Exit)
	defer stop()
	program := cli.Program{
		Version: version,
		Environ: settings.Environ(),
		Stdout:  os.Stdout,
		Stderr:  stderr(),
	}
	return program.Run(ctx, os.Args[1:])
}

// stderr is standard error under another number. A write to number 2 that finds
// no reader any more ends a Go program by SIGPIPE; the daemon has work to do even
// where no program reads its log.
func stderr() *os.File {
	fd, err := syscall.Dup(syscall.Stderr)
	if err != nil {
		return os.Stderr
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), os.Stderr.Name())
}
