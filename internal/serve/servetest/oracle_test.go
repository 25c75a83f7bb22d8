package servetest_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve/servetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestEachExceptionOfTheOracleQuotesItsPromise(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("../../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	p := servetest.None + 1
	for ; ; p++ {
		number, words := p.Says()
		if number == 0 {
			break
		}
		_, line, found := strings.Cut(string(contract), fmt.Sprintf("\n%d. ", number))
		if line, _, _ = strings.Cut(line, "\n"); !found || !strings.Contains(line, words) {
			t.Errorf("contract %d does not say %q", number, words)
		}
	}
	if p != servetest.Kept+1 {
		t.Errorf("got %d exceptions, want a promise for each", p-1)
	}
}

func TestTheOracleSaysWhichSentenceDoesNotHold(t *testing.T) {
	t.Parallel()
	one, two := netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("10.0.0.2:80")
	works := servetest.Endpoint{At: one, Used: true, Answers: true}
	for _, c := range []struct {
		name          string
		before, after []servetest.Endpoint
		want          string
	}{
		{"all is well", []servetest.Endpoint{works}, []servetest.Endpoint{works}, ""},
		{"taken away", []servetest.Endpoint{works}, []servetest.Endpoint{{At: one, Answers: true}}, "works and was used"},
		{"died", []servetest.Endpoint{works}, []servetest.Endpoint{{At: one, Used: true}}, ""},
		{"another is published in its place", []servetest.Endpoint{works}, []servetest.Endpoint{{At: one, Answers: true}, {At: two, Answers: true, Used: true}}, ""},
		{"not published", nil, []servetest.Endpoint{{At: one, Answers: true}}, "could be published"},
		{"cannot be published", nil, []servetest.Endpoint{{At: one, Answers: true, Unable: servetest.Refused}}, ""},
		{"dead and used", []servetest.Endpoint{works}, []servetest.Endpoint{works, {At: two, Used: true}}, "is dead and used"},
		{"dead, and excused", []servetest.Endpoint{works}, []servetest.Endpoint{works, {At: two, Used: true, Stays: servetest.CannotWrite}}, ""},
		{"all are dead", nil, []servetest.Endpoint{{At: one, Used: true}, {At: two, Used: true}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				oracle := servetest.Oracle{Joins: 10 * time.Second, Leaves: 5 * time.Second}
				var got string
				look := func(all []servetest.Endpoint) {
					for range 30 {
						time.Sleep(time.Second)
						if problem := oracle.Look("shop/web", all, servetest.None); got == "" {
							got = problem
						}
					}
				}
				look(c.before)
				if got != "" {
					t.Fatalf("before: %s", got)
				}
				if look(c.after); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}
