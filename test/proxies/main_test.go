//go:build lab

package proxies_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) { netns.Main(m) }
