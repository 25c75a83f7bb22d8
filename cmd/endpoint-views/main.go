// Command endpoint-views says which endpoints stand behind which Service and port, and
// every change.
package main

import (
	"context"
	"os"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/viewcli"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(run())
}

// run carries out the command line. The first SIGTERM or SIGINT stops the program in
// order, a second one at once.
func run() int {
	kubeapi.Silence()
	ctx, stop := commandline.UntilSignal(context.Background(), os.Exit)
	defer stop()
	program := viewcli.Program{Version: version, Environ: config.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}
	return program.Run(ctx, os.Args[1:])
}
