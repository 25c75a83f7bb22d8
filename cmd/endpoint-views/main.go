// Command endpoint-views says which endpoints stand behind which Service and port, and
// every change.
package main

import (
	"context"
	"os"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(run())
}

// run carries out the command line. The first SIGTERM or SIGINT stops the program in
// order, a second one at once.
func run() int {
	kube.Silence()
	ctx, stop := commandline.UntilSignal(context.Background(), os.Exit)
	defer stop()
	program := cli.Program{Version: version, Environ: settings.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}
	return program.Run(ctx, os.Args[1:])
}
