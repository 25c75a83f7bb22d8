package cli

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// TestColumnsOfAWatchLineUp: also where a cell is wider than those before it.
func TestColumnsOfAWatchLineUp(t *testing.T) {
	var out strings.Builder
	p := &printer{out: &out, table: tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0), watch: true}
	for _, port := range []string{"http", "a-long-port-15c", "http"} {
		one := fmt.Sprintf(`{"metadata":{"name":"n"},"spec":{"serviceName":"web","portName":%q,"port":8080,"protocol":"TCP","address":"10.0.0.1","state":"ready"}}`, port)
		if err := p.event(views.Modified, []byte(one)); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if at := strings.Index(lines[2], "10.0.0.1"); len(lines) != 4 || at < 0 || at != strings.Index(lines[3], "10.0.0.1") {
		t.Errorf("the columns do not line up:\n%s", out.String())
	}
	if strings.Index(lines[0], "ADDRESS") != strings.Index(lines[1], "10.0.0.1") {
		t.Errorf("the head does not stand above its columns:\n%s", out.String())
	}
}
