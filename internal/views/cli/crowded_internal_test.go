package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestContract148ANamespaceThatSaysTooMuchIsLoggedOnceAndWhenItIsOver(t *testing.T) {
	var out bytes.Buffer
	log, told := slog.New(slog.NewTextHandler(&out, nil)), []string(nil)
	for _, now := range [][]string{nil, {"evil"}, {"evil"}, {"evil", "other"}, {"other"}} {
		told = tellCrowded(log, told, now)
	}
	for text, want := range map[string]int{"not all Services": 2, "shown again": 1, "namespace=evil": 2, "namespace=other": 1} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q: got %d lines, want %d, of\n%s", text, got, want, &out)
		}
	}
}
