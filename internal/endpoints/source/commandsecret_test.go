package source_test

import (
	"fmt"
	"strings"
	"testing"
)

// Contract 35: no error holds the token of the command or a part of it.
func TestContract35NoErrorHoldsASecretOfTheEnvironment(t *testing.T) {
	var token strings.Builder
	for i := range 100 {
		fmt.Fprintf(&token, "tok%d", 100+i)
	}
	tests := []struct{ name, script string }{
		{"on stderr", `echo "401 for Bearer $IONOS_TOKEN" >&2; exit 1`},
		{"on stderr of a trace", `set -x; test "$IONOS_TOKEN" = ""`},
		{"on both", `echo "$IONOS_TOKEN" | tee /dev/stderr; exit 1`},
		{"as the output", `echo "$IONOS_TOKEN"`},
		{"as a document", `echo "\"$IONOS_TOKEN\""`},
		{"as a key", `echo "[{\"$IONOS_TOKEN\": 1}]"`},
		{"as a name", `echo "[{\"name\": \"$IONOS_TOKEN\"}]"`},
		{"as an address", `echo "[{\"name\": \"w1\", \"private_ip\": \"$IONOS_TOKEN\"}]"`},
		{"before the output limit", `echo "$IONOS_TOKEN" >&2; yes "$IONOS_TOKEN"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := newCommand(t, test.script, "IONOS_TOKEN="+token.String()).Read(t.Context())
			if nodes != nil || err == nil {
				t.Fatalf("got %v, %v, want an error", nodes, err)
			}
			if strings.Contains(err.Error(), "tok1") {
				t.Errorf("got %v, want no part of the token", err)
			}
		})
	}
}

func TestASecretInAGoodInventoryIsNoError(t *testing.T) {
	nodes, err := newCommand(t, "echo '"+one+"'", "SECRET_LETTER=w").Read(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].Name != "w1" {
		t.Errorf("got %v, %v, want the node w1", nodes, err)
	}
}
