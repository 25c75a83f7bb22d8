package preflight

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// requestTimeout bounds one request.
const requestTimeout = 8 * time.Second

// cluster asks an API server. It only reads; a review creates nothing either.
type cluster struct {
	client *kube.Client
	host   string
	expiry kube.Expiry
	// secrets must not appear in the report.
	secrets []string
	// user is who we are to the server.
	user string
}

func open(way kube.Way) (*cluster, error) {
	access, _, err := way.Snapshot()
	if err != nil {
		return nil, err
	}
	client, err := kube.Open(kube.Options{Way: kube.Fixed(access), Timeout: requestTimeout})
	secrets := []string{access.BearerToken, access.Password}
	return &cluster{client: client, host: access.Host, expiry: kube.ExpiryOf(access), secrets: secrets}, err
}

// nowhere is the name of no namespace: there only the rights to all namespaces count.
const nowhere = "-"
