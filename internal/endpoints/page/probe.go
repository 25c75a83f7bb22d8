package page

import (
	"fmt"
	"net/http"
	"strings"
)

// Check is one thing that /livez or /readyz asks.
type Check struct {
	// Name is what the answer calls it.
	Name string
	// Run returns what is wrong, nil if nothing is. It must not wait for anything.
	Run func() error
}

// probe answers in the form of Kubernetes' own components: 200 and ok, or 503 and
// each check with its result; with ?verbose always each check. It never waits for
// its turn: a probe that queued behind readers of the page would restart the
// program.
type probe struct {
	name   string
	checks []Check
}

func (p probe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var lines strings.Builder
	failed := false
	for _, check := range p.checks {
		if err := check.Run(); err != nil {
			failed = true
			fmt.Fprintf(&lines, "[-]%s failed: %v\n", check.Name, err)
			continue
		}
		fmt.Fprintf(&lines, "[+]%s ok\n", check.Name)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case failed:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "%s%s check failed\n", lines.String(), p.name)
	case verbose:
		fmt.Fprintf(w, "%s%s check passed\n", lines.String(), p.name)
	default:
		fmt.Fprint(w, "ok")
	}
}
