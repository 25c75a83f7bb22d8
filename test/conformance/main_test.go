//go:build lab

package conformance_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) {
	netns.EnterNamed()
	built.Main(m)
}
