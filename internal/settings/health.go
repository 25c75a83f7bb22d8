package settings

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// Health is how an endpoint is checked.
type Health struct {
	Mode HealthMode `envconfig:"HEALTH_CHECK_MODE" default:"tcp" oneof:"off,tcp,http,https" desc:"how an endpoint is checked. off: not at all, every endpoint counts as passing; tcp: it accepts a connection; http and https: it answers a GET with an expected status"`
	// Path is a request's target: path and query.
	Path string `envconfig:"HEALTH_CHECK_PATH" mode:"http" default:"/" format:"url-path" desc:"path, and query if need be, of the request; for http and https"`
	// Host is empty for the member's own address. It never decides where to
	// connect to (contract 11).
	Host string `envconfig:"HEALTH_CHECK_HOST" mode:"http" format:"host" fallback:"address of the endpoint" example:"web.example.com" desc:"Host header of the request, without a port; for http and https"`
	// Port is 0 for the only TCP port of the target.
	Port int `envconfig:"HEALTH_CHECK_PORT" min:"1" max:"65535" fallback:"target port" example:"8080" desc:"TCP port to check; needed when the target has several TCP ports or none"`
	// ExpectedStatus has the kubelet's default.
	ExpectedStatus []string `envconfig:"HEALTH_CHECK_EXPECTED_STATUS" mode:"http" format:"status" default:"200-399" example:"200-399,404" desc:"HTTP statuses that pass, as numbers from 100 to 599 and ranges, separated by commas; for http and https"`
	// Interval has a lower limit so that checks in question (a tenth of it, at
	// least 100 ms) are never slower than the others.
	Interval time.Duration `envconfig:"HEALTH_CHECK_INTERVAL" default:"2s" min:"100ms" max:"1h" desc:"time from the start of one round of checks to the start of the next. Default: 2s, or HEALTH_CHECK_TIMEOUT if that is longer"`
	// Timeout may not exceed Interval: rounds never overlap (contract 12), so one
	// silent endpoint would make every round late. AWS and GCP have the same rule.
	Timeout time.Duration `envconfig:"HEALTH_CHECK_TIMEOUT" default:"1s" min:"10ms" max:"1h" desc:"timeout of one check, at most HEALTH_CHECK_INTERVAL. Default: 1s, or the interval if that is shorter"`
	// Rise and Fall count results in a row; one opposite result starts anew
	// (contract 10).
	Rise int `envconfig:"HEALTH_CHECK_RISE" default:"2" min:"1" max:"1000" desc:"passes in a row after which an endpoint that is down is ready again"`
	Fall int `envconfig:"HEALTH_CHECK_FALL" default:"3" min:"1" max:"1000" desc:"failures in a row after which an endpoint is down"`
	// Concurrency bounds sockets and goroutines (contract 33).
	Concurrency int `envconfig:"HEALTH_CHECK_CONCURRENCY" default:"256" min:"1" max:"65535" desc:"checks in flight at the same time; each needs a file descriptor, and a quarter of those that the process may have is the most that checks use"`

	// HoldConnection is off by default: a server that handles one connection at a
	// time would hang for its clients while ours is idle in it.
	HoldConnection bool `envconfig:"HEALTH_CHECK_HOLD_CONNECTION" default:"false" desc:"hold one idle TCP connection to each endpoint; when it is lost the endpoint is checked at once, so that a crash is seen within half a second. Wrong for servers that handle one connection at a time"`

	TLSCAFile     string `envconfig:"HEALTH_CHECK_TLS_CA_FILE" mode:"https" fallback:"system's roots" example:"/etc/endpoints/ca.crt" desc:"PEM file with the authorities that sign the certificates of the endpoints; for https"`
	TLSServerName string `envconfig:"HEALTH_CHECK_TLS_SERVER_NAME" mode:"https" format:"host" fallback:"HEALTH_CHECK_HOST, else the address" example:"web.example.com" desc:"name that the certificate must be for; for https"`
	// TLSInsecure is for certificates that cannot be verified.
	TLSInsecure bool `envconfig:"HEALTH_CHECK_TLS_INSECURE" mode:"https" default:"false" desc:"accept any certificate; for https. The check then proves that something answers, not what"`
}

// RootCAs reads the authorities of HEALTH_CHECK_TLS_CA_FILE. It returns nil,
// which stands for the system's own, where no file is named.
func (h Health) RootCAs() (*x509.CertPool, error) {
	if h.TLSCAFile == "" {
		return nil, nil
	}
	content, err := system.ReadFile(h.TLSCAFile, maxCAFile)
	if err != nil {
		return nil, fmt.Errorf("read authorities of the health check: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("read authorities of the health check: %s: %w", h.TLSCAFile, errNoCertificate)
	}
	return pool, nil
}

var errNoCertificate = errors.New("holds no certificate in PEM form")

// Guard is how much an inventory, or a prober that is cut off, may take away.
type Guard struct {
	// EmptyResultThreshold is 0 for "never" (contract 13).
	EmptyResultThreshold int `envconfig:"EMPTY_RESULT_THRESHOLD" default:"10" min:"0" max:"1000000" desc:"rejected inventories in a row (empty, or taking away more than MAX_REMOVAL_PERCENT) after which endpoints that they leave out are removed: those that were down at each, those that as many new ones replace, and with HEALTH_CHECK_MODE=off all. Others stay as long as they pass. 0 means never"`
	// MaxRemovalPercent never forbids the removal of a single endpoint.
	MaxRemovalPercent int `envconfig:"MAX_REMOVAL_PERCENT" default:"50" min:"0" max:"100" desc:"percentage of the endpoints that may leave at a time; an inventory that takes more away is rejected, and what it leaves out is kept; one endpoint may always leave"`
	// DrainPeriod is 0 for no draining at all.
	DrainPeriod time.Duration `envconfig:"DRAIN_PERIOD" default:"30s" min:"0s" max:"24h" desc:"how long a leaving endpoint that still passes stays draining, at least until another one passes; 0s removes it as soon as one does"`
	// MaxSilentPercent is contract 14, FailOpen contract 15.
	MaxSilentPercent int  `envconfig:"HEALTH_CHECK_MAX_SILENT_PERCENT" default:"50" min:"0" max:"100" desc:"percentage of the endpoints that may be silent at once; if more are, this daemon is presumed cut off, and silence takes no endpoint down. With 0, silence never takes an endpoint down"`
	FailOpen         bool `envconfig:"HEALTH_CHECK_FAIL_OPEN" default:"true" desc:"publish all endpoints that stay as ready when none passes its health check; false publishes them as down"`
}
