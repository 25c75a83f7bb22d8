package netns

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// hostsFile is where programs look for the addresses of names first.
const hostsFile = "/etc/hosts"

// Hosts gives names addresses until the test ends, as a DNS would. The machine's own file
// does not change, and no two tests may do so at a time.
func Hosts(t testing.TB, addresses map[string]netip.Addr) {
	t.Helper()
	Require(t)
	text := "127.0.0.1 localhost\n::1 localhost\n"
	for name, address := range addresses {
		text += fmt.Sprintln(address, name)
	}
	path := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("mount", "--bind", path, hostsFile).CombinedOutput(); err != nil {
		t.Fatalf("netns: names: %v: %s", err, output)
	}
	t.Cleanup(func() {
		if output, err := exec.Command("umount", hostsFile).CombinedOutput(); err != nil {
			t.Errorf("netns: names: %v: %s", err, output)
		}
	})
}
