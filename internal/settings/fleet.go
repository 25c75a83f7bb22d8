package settings

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
)

// ViewsFleet is how `endpoint-views fleet` makes fleets of Envoys.
type ViewsFleet struct {
	Namespaces []string `envconfig:"FLEET_NAMESPACES" format:"dns-label" fallback:"all" desc:"namespaces whose Envoys are looked after, separated by commas; the rights are needed in these only" example:"shop,blog"`
	Server     string   `envconfig:"FLEET_XDS_SERVER" fleet:"needed" format:"host-port" desc:"HOST:PORT of XDS_ADDRESS as the Envoys reach it; a headless Service, so that they spread over the replicas; needed by fleet" example:"endpoint-views-xds.infra:18000"`
	EnvoyImage string   `envconfig:"FLEET_ENVOY_IMAGE" fleet:"needed" format:"image" desc:"image of Envoy by its digest, for fleets without spec.image; needed by fleet" example:"envoyproxy/envoy@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	Image      string   `envconfig:"FLEET_IMAGE" fleet:"needed" desc:"image of endpoint-views, which drains an Envoy that ends; needed by fleet" example:"ghcr.io/ablmnzde/ionoscloud-endpointslice-controller@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	ServeURL   string   `envconfig:"FLEET_SERVE_URL" format:"server-url" fallback:"Synced stays Unknown" desc:"address of VIEWS_ADDRESS of endpoint-views, where the operator asks what the Envoys acknowledged; of a host with several addresses each is asked" example:"https://endpoint-views-replicas.infra:8443"`
	ServeCA    string   `envconfig:"FLEET_SERVE_CA_FILE" fallback:"authorities of the system" desc:"file with the authority of its certificate, read again for each question"`
	ServeToken string   `envconfig:"FLEET_SERVE_TOKEN_FILE" fallback:"no token" desc:"file with the operator's token, read again for each question; its identity needs the namespace \"*\""`
	Election   bool     `envconfig:"FLEET_LEADER_ELECTION" default:"false" desc:"true lets only one of several operators act"`
	LeaseNS    string   `envconfig:"FLEET_LEASE_NAMESPACE" format:"dns-label" fallback:"namespace of the Pod" desc:"namespace of the Lease of the operators"`
	LeaseName  string   `envconfig:"FLEET_LEASE_NAME" default:"endpoint-views-fleet" format:"dns-subdomain" desc:"name of that Lease"`
}

// CheckFleet says what `endpoint-views fleet` is missing; the other commands need none of
// it.
func (v Views) CheckFleet() error {
	var missing Mistakes
	for _, one := range variablesOf(&v.Fleet) {
		if one.tags.Get("fleet") == "needed" && one.field.IsZero() {
			missing = append(missing, Mistake{Variable: one.name, Rule: "is not set, and fleet needs it", Remedy: "set it, for example to " + one.tags.Get("example")})
		}
	}
	if len(missing) > 0 {
		return missing
	}
	return nil
}

// HostPort is FLEET_XDS_SERVER in parts. The configuration is valid, so it has both.
func (f ViewsFleet) HostPort() (host string, port uint16) {
	host, text, _ := net.SplitHostPort(f.Server)
	number, _ := strconv.ParseUint(text, 10, 16)
	return host, uint16(number)
}

func hostPort(value string) error {
	name, text, err := net.SplitHostPort(value)
	number, wrong := strconv.ParseUint(text, 10, 16)
	if err == nil && wrong == nil && number > 0 && host(name) == nil {
		return nil
	}
	return Problem{Rule: "is no HOST:PORT", Remedy: "write for example endpoint-views-xds.infra:18000"}
}

var byDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

func image(value string) error {
	if byDigest.MatchString(value) {
		return nil
	}
	return Problem{Rule: "is no image by its digest", Remedy: "write REPOSITORY@sha256: and 64 of 0-9 and a-f: a tag may become another image"}
}

func serverURL(value string) error {
	_, err := webURL(value, "https://endpoint-views.infra:8443")
	return err
}

// checkFleet holds variables against each other.
func (l *loader) checkFleet(v *Views) {
	const address, token, ca = "FLEET_SERVE_URL", "FLEET_SERVE_TOKEN_FILE", "FLEET_SERVE_CA_FILE" //nolint:gosec // names, no secrets
	l.needs(address, token, v.Fleet.ServeToken != "")
	l.needs(address, ca, v.Fleet.ServeCA != "")
	if server, err := url.Parse(v.Fleet.ServeURL); err == nil && v.Fleet.ServeToken != "" && server.Scheme == "http" && server.Hostname() != "127.0.0.1" && server.Hostname() != "localhost" {
		l.mistake(address, "would send the token without TLS", "write a URL of scheme https")
	}
}
