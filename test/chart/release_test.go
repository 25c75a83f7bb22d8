package chart_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAReleasedChartKnowsItsImage packages the chart as the release does. What
// is not released must not name an image that does not exist.
func TestAReleasedChartKnowsItsImage(t *testing.T) {
	const (
		image  = "ghcr.io/ablmnzde/ionoscloud-endpointslice-controller"
		digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	)
	for _, version := range helms {
		folder := t.TempDir()
		if got := helm(t, version, "package", chartDir, "--version", "9.8.7", "--app-version", "v9.8.7", "--destination", folder); got.failed {
			t.Fatalf("%s: %s", version, got.stderr)
		}
		chart := filepath.Join(folder, release+"-9.8.7.tgz")
		for set, want := range map[string]string{
			"":                             image + ":v9.8.7",
			"image.tag=dev":                image + ":dev",
			"image.digest=" + digest:       image + "@" + digest,
			"controller.storeKind=kubectl": image + ":v9.8.7-toolbox",
			"controller.sourceKind=command,controller.inventoryCommand=cat": image + ":v9.8.7-toolbox",
		} {
			got := helm(t, version, "template", "edge", chart, "--show-only", "templates/deployment.yaml", "--set", set,
				"--set", "controller.ionosDatacenterId=8feda53f-15f0-447f-badf-ebe32dad2fc0", "--set", "controller.ionosPrivateLanId=2",
				"--set", "controller.securedSubnetCidr=10.7.222.0/24")
			if got.failed || !strings.Contains(got.stdout, `image: "`+want+`"`) {
				t.Errorf("%s, --set %q: got no image %q in\n%s%s", version, set, want, got.stdout, got.stderr)
			}
		}
	}
}
