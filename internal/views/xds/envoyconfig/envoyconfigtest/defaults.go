// Package envoyconfigtest has what the tests of several packages need of envoyconfig. Nothing
// goes in; out come settings.
package envoyconfigtest

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// Defaults are the settings where nothing else is said.
func Defaults() envoyconfig.Settings {
	return envoyconfig.Settings{
		ConnectTimeout: 500 * time.Millisecond, IdleTimeout: 4 * time.Second, StreamIdleTimeout: time.Hour,
		Retries: 5, BufferBytes: 1 << 20,
		EjectAfter: 2, EjectionTime: 5 * time.Second, MaxEjectionPercent: 50, PanicPercent: 50,
		MaxRequests: 1_000_000, AccessLog: v1alpha1.AccessLogFailures,
	}
}
