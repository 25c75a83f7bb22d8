package kinds_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

func TestTheDefinitionsAreWhatTheTypesSay(t *testing.T) {
	t.Parallel()
	to := t.TempDir()
	command := exec.CommandContext(t.Context(), built.Tool(t, "crd-gen"), "-root", "../..", "-to", to, "./api/v1alpha1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	if diff := cmp.Diff(files(t, to), files(t, folder)); diff != "" {
		t.Errorf("%s drifted (-types +files), run \"make generate\":\n%s", folder, diff)
	}
}

// files are the texts of a folder by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(text)
	}
	return found
}
