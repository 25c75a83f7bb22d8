package settings_test

import (
	"os"
	"strings"
	"testing"
)

// TestContract04ASecretFileThatIsEmptiedIsAnErrorAndNoEmptySecret: a rotation that
// goes wrong half-way must not send requests without a token.
func TestContract04ASecretFileThatIsEmptiedIsAnErrorAndNoEmptySecret(t *testing.T) {
	path := writeSecret(t, "first\n")
	c := load(t, with(env{"IONOS_TOKEN_FILE": path}))
	for name, content := range map[string]string{"empty": "", "blank": " \n", "two lines": "first\nsecond\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := c.IONOS.Token.Read()
		if err == nil || got != "" {
			t.Errorf("%s: Read() = %q, %v, want an error", name, got, err)
			continue
		}
		if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "second") {
			t.Errorf("%s: got error %v, want the path and no content", name, err)
		}
	}
	if err := os.WriteFile(path, []byte("third\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.IONOS.Token.Read(); err != nil || got != "third" {
		t.Errorf("Read() = %q, %v, want third", got, err)
	}
}
