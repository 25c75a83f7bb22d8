package cli_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// Who may write the Lease of the leader must not have a standby connect to other addresses.
func TestContract243AStandbyTriesWhatIsConfigured(t *testing.T) {
	variables := settings.SecuredCluster{Subnets: []string{"10.1.0.0/16"}}
	for name, test := range map[string]struct {
		config settings.Config
		want   []string
	}{
		"variables": {settings.Config{Secured: variables}, []string{"10.1.0.0/16"}},
		"objects":   {settings.Config{Documents: settings.Documents{API: true, BoundSubnets: []string{"10.2.0.0/16"}}}, []string{"10.2.0.0/16"}},
		"files":     {settings.Config{Documents: settings.Documents{Dir: "/documents"}}, []string{"0.0.0.0/0", "::/0"}},
		"both":      {settings.Config{Documents: settings.Documents{Dir: "/documents", API: true, BoundSubnets: []string{"10.2.0.0/16"}}}, []string{"0.0.0.0/0", "::/0"}},
	} {
		var want []netip.Prefix
		for _, subnet := range test.want {
			want = append(want, netip.MustParsePrefix(subnet))
		}
		if got := cli.SubnetsToTry(test.config); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
