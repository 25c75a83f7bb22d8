package controllertest_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestEachExceptionOfTheOracleQuotesItsPromise(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("../../../docs/design/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	p := controllertest.None + 1
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
	if p != controllertest.Released+1 {
		t.Errorf("got %d exceptions, want a promise for each", p-1)
	}
}

func TestTheOracleSaysWhichSentenceDoesNotHold(t *testing.T) {
	t.Parallel()
	one, two := netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("10.0.0.2:80")
	works := controllertest.Endpoint{At: one, Used: true, Answers: true}
	for _, c := range []struct {
		name          string
		before, after []controllertest.Endpoint
		want          string
	}{
		{"all is well", []controllertest.Endpoint{works}, []controllertest.Endpoint{works}, ""},
		{"taken away", []controllertest.Endpoint{works}, []controllertest.Endpoint{{At: one, Answers: true}}, "works and was used"},
		{"died", []controllertest.Endpoint{works}, []controllertest.Endpoint{{At: one, Used: true}}, ""},
		{"another is published in its place", []controllertest.Endpoint{works}, []controllertest.Endpoint{{At: one, Answers: true}, {At: two, Answers: true, Used: true}}, ""},
		{"not published", nil, []controllertest.Endpoint{{At: one, Answers: true}}, "could be published"},
		{"cannot be published", nil, []controllertest.Endpoint{{At: one, Answers: true, Unable: controllertest.Refused}}, ""},
		{"dead and used", []controllertest.Endpoint{works}, []controllertest.Endpoint{works, {At: two, Used: true}}, "is dead and used"},
		{"dead, and excused", []controllertest.Endpoint{works}, []controllertest.Endpoint{works, {At: two, Used: true, Stays: controllertest.CannotWrite}}, ""},
		{"all are dead", nil, []controllertest.Endpoint{{At: one, Used: true}, {At: two, Used: true}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				oracle := controllertest.Oracle{Joins: 10 * time.Second, Leaves: 5 * time.Second}
				var got string
				look := func(all []controllertest.Endpoint) {
					for range 30 {
						time.Sleep(time.Second)
						if problem := oracle.Look("shop/web", all, controllertest.None); got == "" {
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
