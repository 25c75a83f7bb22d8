package hack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo lists three packages. Its end-to-end tests and the others each end only when
// both have begun, through two named pipes.
const fakeGo = `#!/usr/bin/env bash
set -eu
case "$*" in
"list ./...") printf '%s\n' example.org/m/internal/a example.org/m/test/e2e example.org/m/test/e2e/deeper ;;
"list ./internal/a") echo example.org/m/internal/a ;;
"test -exec env -u GOGC -parallel 4 -v example.org/m/test/e2e")
  touch "$TEST_PROGRAMS/built"
  echo "$TEST_PROGRAMS" >"$PIPES/programs"
  echo waiting >"$PIPES/here"
  read -r _ <"$PIPES/there"
  echo "ran e2e" && exit "${E2E:-0}" ;;
"test -exec env -u GOGC -p $(($(nproc) + 1)) -v example.org/m/internal/a example.org/m/test/e2e/deeper")
  read -r _ <"$PIPES/here"
  [ -e "$TEST_PROGRAMS/built" ] || echo "shares no programs"
  echo waiting >"$PIPES/there"
  echo "ran others" && exit "${OTHERS:-0}" ;;
*) echo "ran go $*" ;;
esac
`

func TestTheEndToEndTestsRunBesideTheOthers(t *testing.T) {
	bin, pipes := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(fakeGo), 0o700); err != nil {
		t.Fatal(err)
	}
	call := script{
		name: "run-tests.sh", args: []string{"./...", "--", "-v"},
		path: bin + ":" + os.Getenv("PATH"), env: map[string]string{"PIPES": pipes},
	}
	call.execute(t, "mkfifo", filepath.Join(pipes, "here"), filepath.Join(pipes, "there")).want(0)
	for _, c := range []struct {
		e2e, others string
		status      int
	}{{"", "", 0}, {"1", "", 1}, {"", "1", 1}, {"1", "1", 1}} {
		got := call.with(map[string]string{"E2E": c.e2e, "OTHERS": c.others}).run(t).want(c.status)
		if got.stdout != "ran others\nran e2e\n" {
			t.Errorf("got %q, want both, the end-to-end tests last", got.stdout)
		}
		programs, err := os.ReadFile(filepath.Join(pipes, "programs"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(strings.TrimSpace(string(programs))); !os.IsNotExist(err) {
			t.Errorf("the folder of the shared programs: got %v, want it removed", err)
		}
	}
	call.args = []string{"./internal/a", "--", "-v"}
	call.run(t).want(0, "ran go test -v ./internal/a")
	call.args = []string{"./..."}
	call.run(t).want(2, "see --help")
}
