package docs_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestMain gives the daemon of the README its ports: they are fixed, and other
// tests use them too.
func TestMain(m *testing.M) {
	netns.Enter()
	built.Main(m)
}

// root is the folder of the repository.
const root = "../.."

// says is what the built program prints.
func says(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), built.Program(t), args...)
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
