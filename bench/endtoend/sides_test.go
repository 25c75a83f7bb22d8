package endtoend_test

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// metricsAddress is the same for every daemon: only one runs at a time.
const metricsAddress = "127.0.0.1:8081"

// side is one of the programs that keep the slices equal to the nodes.
type side struct {
	// name is also its user at both API servers.
	name string
	// perSlice is how many endpoints it puts into a slice.
	perSlice int
	// paced marks a program that writes a slice at most once a second.
	paced bool
	start func() *program.Program
}

// daemonSide is the program with its default settings, except for changes.
func (w *world) daemonSide(changes ...string) side {
	remote, local := w.access("daemon")
	env := append([]string{
		"HOME=" + filepath.Dir(remote), "PATH=" + os.Getenv("PATH"),
		"SOURCE_KIND=kubernetes", "SECURED_KUBECONFIG=" + remote, "SECURED_SUBNET_CIDR=" + subnet,
		"TARGET_NAMESPACE=" + namespace, "TARGET_SERVICE_NAME=" + service, "TARGET_PORT=" + strconv.Itoa(port),
		"STORE_KIND=client-go", "KUBECONFIG=" + local,
		"ADMIN_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=" + metricsAddress,
	}, changes...)
	return side{"daemon", 100, true, func() *program.Program { return program.Start(w.t, env, w.daemon) }}
}

// bareSide is bench/bare.
func (w *world) bareSide() side {
	remote, local := w.access("bare")
	return side{"bare", 1_000, false, func() *program.Program {
		return program.Start(w.t, os.Environ(), w.bare, "-remote", remote, "-local", local, "-namespace", namespace, "-service", service, "-port", strconv.Itoa(port))
	}}
}

// access returns a kubeconfig for each API server. Its user may do everything.
func (w *world) access(user string) (remote, local string) {
	return w.remote.UserKubeconfig(w.t, user, "system:masters"), w.local.UserKubeconfig(w.t, user, "system:masters")
}
