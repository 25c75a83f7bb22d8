package system_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

func TestContract35RedactHidesTheSecretsOfAnEnvironment(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		text string
		want string
	}{
		{"a token", []string{"IONOS_TOKEN=s3cr3t"}, "bearer s3cr3t refused, s3cr3t", "bearer ******** refused, ********"},
		{"names in any case", []string{"db_Password=one", "API_KEY=two", "MY_SECRET=three", "PASSPHRASE=four", "GCP_CREDENTIALS=five"},
			"one two three four five", "******** ******** ******** ******** ********"},
		{"other names", []string{"HOME=/home/me", "IONOS_USERNAME=me@example.com", "NOVALUE"}, "/home/me me@example.com NOVALUE", "/home/me me@example.com NOVALUE"},
		{"the path of a secret", []string{"IONOS_TOKEN_FILE=/run/token"}, "cat: /run/token: no such file", "cat: /run/token: no such file"},
		{"an empty secret", []string{"IONOS_TOKEN="}, "text", "text"},
		{"one secret in another, and beside it", []string{"A_TOKEN=abc", "B_TOKEN=abcdef"}, "abcdef abcabc xabcx", "******** ******** x********x"},
		{"secrets that overlap", []string{"A_TOKEN=abcd", "B_TOKEN=cdef"}, "-abcdef-", "-********-"},
		{"a secret that overlaps itself", []string{"A_TOKEN=aba"}, "-ababa-", "-********-"},
		{"a proxy's password", []string{"https_proxy=http://me:pa:ss@proxy:3128"}, "CONNECT http://me:pa:ss@proxy:3128, pa:ss", "CONNECT http://********@proxy:3128, ********"},
		{"a proxy without a password", []string{"https_proxy=http://me@proxy:3128"}, "http://me@proxy:3128", "http://me@proxy:3128"},
		{"a secret of several lines", []string{"TLS_KEY=-----BEGIN KEY-----\nMIIEvQIBADAN\n}\n"}, "got\nMIIEvQIBADAN\n}", "got\n********\n}"},
		{"a secret with a line break at its end", []string{"IONOS_TOKEN=abc\r\n"}, "abc", "********"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := system.Redact(test.text, test.env); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestContract35NoErrorOfRunHoldsASecret(t *testing.T) {
	// As long as the tokens of IONOS are, and no part of it like another.
	secret := "eyJ"
	for i := range 200 {
		secret += strconv.Itoa(1000 + i)
	}
	secret += "more"
	tests := []struct{ name, script, want string }{
		{"plain", `echo "token $IONOS_TOKEN" >&2; exit 1`, "token ********"},
		{"with colours", `printf '\033[1m%s\033[0m\n' "$IONOS_TOKEN" >&2; exit 1`, "[1m********[0m"},
		{"with a control character inside", `printf '%s\001%s\n' "${IONOS_TOKEN%more}" more >&2; exit 1`, "********"},
		{"over the output limit", `echo "token $IONOS_TOKEN" >&2; yes`, "token ********"},
		{"on standard output", `echo "token $IONOS_TOKEN"; exit 1`, "exit status 1"},
		// The secret lies across every place where the tail could be cut.
		{"at a cut", `for i in $(seq 4000); do echo "$IONOS_TOKEN"; done >&2; exit 1`, "********"},
		{"at a cut, without a line break", `for i in $(seq 4000); do printf %s "$IONOS_TOKEN"; done >&2; exit 1`, "is left out"},
		{"in one line longer than the tail", `for i in $(seq 60); do printf .%s "$IONOS_TOKEN"; done >&2; exit 1`, ".********"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			command := sh(test.script)
			command.Env = append(command.Env, "IONOS_TOKEN="+secret)
			_, err := new(system.Runner).Run(t.Context(), command)
			if err == nil {
				t.Fatal("got no error")
			}
			for size := 8; size <= len(secret); size += 8 {
				if part := secret[len(secret)-size:]; strings.Contains(err.Error(), part) {
					t.Fatalf("got %v, want no %q", err, part)
				}
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestRunKeepsTheLastLinesOfStderr(t *testing.T) {
	_, err := new(system.Runner).Run(t.Context(), sh("seq 100000 >&2; exit 1"))
	exit := new(system.ExitError)
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	lines := strings.Split(exit.Stderr, "\n")
	if got, want := lines[len(lines)-1], "100000"; got != want {
		t.Errorf("got last line %q, want %q", got, want)
	}
	if got, want := len(lines[0]), 5; got != want {
		t.Errorf("got first line %q, want a whole one", lines[0])
	}
	if got := len(exit.Stderr); got > 4<<10 || got < 4000 {
		t.Errorf("got %d bytes, want 4 KiB and not more", got)
	}
}
