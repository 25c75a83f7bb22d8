package settings_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
)

// canary is a secret that must appear nowhere.
const canary = "c4n4ry.eyJhbGciOiJub25lIn0.s3cr3t"

// loadError returns the error of an invalid environment.
func loadError(t *testing.T, e env) error {
	t.Helper()
	_, err := environment.Load(e.list())
	if err == nil {
		t.Fatal("Load found no mistake")
	}
	return err
}

// writeSecret writes a file that holds a secret and returns its path.
func writeSecret(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// printed returns a value in every way in which it could end up in an output.
func printed(t *testing.T, value any) string {
	t.Helper()
	var text bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%T"} {
		fmt.Fprintf(&text, verb+"\n", value)
		fmt.Fprintf(&text, verb+"\n", struct{ hidden any }{value})
	}
	if stringer, ok := value.(fmt.GoStringer); ok {
		text.WriteString(stringer.GoString())
	}
	if err := json.NewEncoder(&text).Encode(value); err != nil {
		t.Fatal(err)
	}
	for _, handler := range []slog.Handler{
		slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}),
		slog.NewJSONHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}),
	} {
		slog.New(handler).Debug("configuration", "value", value, slog.Group("group", "value", value))
	}
	return text.String()
}

// Contract 35: a secret never appears in a log, page or error. These are all
// the ways in which a configuration can be printed.
func TestContract35ASecretNeverPrints(t *testing.T) {
	for name, e := range map[string]env{
		"from the environment": {"IONOS_TOKEN": canary, "IONOS_PASSWORD": canary},
		"from a file":          {"IONOS_TOKEN_FILE": writeSecret(t, canary), "IONOS_PASSWORD_FILE": writeSecret(t, canary)},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, with(e))
			for what, value := range map[string]any{
				"Config": c, "*Config": &c, "IONOS": c.IONOS, "Secret": c.IONOS.Token, "*Secret": &c.IONOS.Token,
				"Command": c.Command, "Environment": c.Command.Environment, "Store": c.Store, "Describe": c.Describe(),
			} {
				got := printed(t, value)
				for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary)} {
					if strings.Contains(got, form) {
						t.Errorf("%s shows the secret:\n%s", what, got)
					}
				}
			}
			if secret, err := c.IONOS.Token.Read(); err != nil || secret != canary {
				t.Errorf("Read() = %q, %v; the secret itself is lost", secret, err)
			}
		})
	}
}

// Contract 35, for errors: also with other mistakes, and when the secret stands in
// the wrong place.
func TestContract35ASecretNeverAppearsInAnError(t *testing.T) {
	for name, e := range map[string]env{
		"other variables are wrong": {"IONOS_TOKEN": canary, "IONOS_PASSWORD": canary, "TARGET_PORT": "x", "LOG_LEVEL": "x"},
		"both twins are set":        {"IONOS_TOKEN": canary, "IONOS_TOKEN_FILE": writeSecret(t, canary)},
		"it spans lines":            {"IONOS_TOKEN": canary + "\n" + canary},
		"it is a path":              {"IONOS_TOKEN_FILE": canary},
		"its file spans lines":      {"IONOS_TOKEN_FILE": writeSecret(t, canary+"\n"+canary)},
		"its file is too large":     {"IONOS_TOKEN_FILE": writeSecret(t, strings.Repeat(canary, 64<<10))},
		"its name is misspelt":      {"IONOS_TOKENS": canary, "IONOS_PASSWORD_FIEL": canary},
		"it is part of a URL":       {"IONOS_API_URL": "https://me:" + canary + "@api.ionos.com"},
		"it looks like a port":      {"IONOS_API_URL": "https://me:12/" + canary + "@api.ionos.com"},
		"it looks like a query":     {"IONOS_API_URL": "https://me?" + canary + "@api.ionos.com"},
		"it has no scheme":          {"IONOS_API_URL": "me:12/" + canary + "@api.ionos.com"},
		"it is escaped":             {"IONOS_API_URL": "https://me:12/" + canary + "%40api.ionos.com"},
		"it is part of a wrong URL": {"IONOS_API_URL": "https://me:" + canary + "%zz@api.ionos.com"},
	} {
		t.Run(name, func(t *testing.T) {
			err := loadError(t, with(e))
			if got := printed(t, err); strings.Contains(got, canary) {
				t.Errorf("the error shows the secret:\n%s", got)
			}
		})
	}
}

// Contract 4: credentials are read again for every read; a rotated token works
// without a restart.
func TestContract04ASecretFileIsReadAgainAtEachUse(t *testing.T) {
	path := writeSecret(t, "first\n")
	c := load(t, with(env{"IONOS_TOKEN_FILE": path}))
	for _, want := range []string{"first", "second", "third"} {
		if err := os.WriteFile(path, []byte(want+" \r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := c.IONOS.Token.Read(); err != nil || got != want {
			t.Errorf("Read() = %q, %v; want %q", got, err, want)
		}
		entries, err := c.Command.Environment.Read()
		if got := strings.Join(entries, " "); err != nil || !strings.Contains(got, "IONOS_TOKEN="+want+" ") {
			t.Errorf("the inventory command gets %q, %v; want IONOS_TOKEN=%s", got, err, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := c.IONOS.Token.Read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read() of a missing file: %v, want that it does not exist", err)
	}
	if _, err := c.Command.Environment.Read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("environment with a missing file: %v, want that it does not exist", err)
	}
}

func TestASecretFileMustHoldASecretAtTheStart(t *testing.T) {
	const remedy = "; name a file that this process may read; the secret itself belongs into IONOS_TOKEN"
	for _, tt := range []struct{ name, path, want string }{
		{"missing", filepath.Join(t.TempDir(), "missing"), "no such file or directory"},
		{"a folder", t.TempDir(), "not a regular file"},
		{"a device", "/dev/zero", "not a regular file"},
		{"blank", writeSecret(t, " \n"), "is empty"},
		{"two lines", writeSecret(t, "a\nb"), "holds a control character, such as a line break, before its end"},
		{"too large", writeSecret(t, strings.Repeat("x", 64<<10+1)), "larger than 65536 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkMistakes(t, with(env{"IONOS_TOKEN_FILE": tt.path}),
				"IONOS_TOKEN_FILE: does not name a file with a secret: "+tt.want+remedy)
		})
	}
}

func TestASecretIsTrimmedWhereverItComesFrom(t *testing.T) {
	for name, e := range map[string]env{
		"environment": {"IONOS_TOKEN": " token\n"},
		"file":        {"IONOS_TOKEN_FILE": writeSecret(t, " token\n")},
	} {
		if got, err := load(t, with(e)).IONOS.Token.Read(); err != nil || got != "token" {
			t.Errorf("%s: Read() = %q, %v; want token", name, got, err)
		}
	}
}

func TestNoSecretIsNotAnEmptyOne(t *testing.T) {
	token := load(t, minimal()).IONOS.Token
	if token.IsSet() {
		t.Error("IsSet() = true without a secret")
	}
	if got, err := token.Read(); err == nil {
		t.Errorf("Read() = %q without an error", got)
	}
}
