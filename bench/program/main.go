package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Main runs the tests of a package in a network namespace of its own, in which every
// address of a subnet answers, and ends the process.
func Main(m *testing.M, subnet string) {
	netns.Enter()
	bin, err := filepath.Abs("../../.tools/bin") // bench has a go.mod of its own
	if err == nil {
		err = os.Setenv("KUBEBUILDER_ASSETS", bin)
	}
	if err != nil {
		panic(err)
	}
	if out, err := exec.Command("ip", "route", "add", "local", subnet, "dev", "lo").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "ip route add local %s dev lo: %v: %s\n", subnet, err, out)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var begun = time.Now()

// Progress reports what happens now.
func Progress(format string, args ...any) {
	fmt.Printf("# %4.0f s  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
}
