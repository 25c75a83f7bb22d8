package cli_test

import (
	"strings"
	"testing"
)

// A variable of another program must not keep the daemon from starting, and a
// name that was meant for the daemon must not be lost without a word.
func TestAForeignVariableIsAWarningOnEverySurface(t *testing.T) {
	t.Parallel()
	environ := append([]string{"ADMIN_EMAIL=me@example.com", "IONOS_CONTRACT_NUMBER=31337"}, base...)
	const want = "ADMIN_EMAIL: is not a variable of this program and has no effect; if it belongs to another program, leave it"
	code, stdout, stderr := run(t, environ, "config", "validate")
	if code != 0 || !strings.Contains(stderr, "warning: "+want) || stdout != "The configuration is valid.\n" {
		t.Errorf("config validate: got exit status %d, want 0 and the warning; stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
	}
	_, stdout, _ = run(t, environ, "check")
	for _, variable := range []string{"ADMIN_EMAIL", "IONOS_CONTRACT_NUMBER"} {
		if !strings.Contains(stdout, variable) {
			t.Errorf("check: got no %s:\n%s", variable, stdout)
		}
	}
	code, _, stderr = run(t, environ, "run", "--once")
	if got := strings.Count(stderr, `"variable":"ADMIN_EMAIL"`); code != 0 || got != 1 || !strings.Contains(stderr, "if it belongs to another program") {
		t.Errorf("run --once: got exit status %d and %d log lines, want 0 and 1:\n%s", code, got, stderr)
	}
	for _, text := range []string{stdout, stderr} {
		if strings.Contains(text, "31337") || strings.Contains(text, "me@example.com") {
			t.Errorf("the value of a foreign variable is shown:\n%s", text)
		}
	}
}

func TestAMisspeltVariableEndsTheProgram(t *testing.T) {
	t.Parallel()
	code, _, stderr := run(t, append([]string{"STATIC_NODE=w1=127.0.0.1"}, base...), "config", "validate")
	if code != 2 || !strings.Contains(stderr, "STATIC_NODE: is not a variable of this program; did you mean STATIC_NODES?") {
		t.Errorf("got exit status %d, want 2 and the variable that was meant; stderr:\n%s", code, stderr)
	}
}
