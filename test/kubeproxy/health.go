package kubeproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// healthz is where kube-proxy says how it is, in its own namespace.
const healthz = "http://127.0.0.1:10256/healthz"

// health is the part of the answer that matters here. A family is missing
// until its rules were written for the first time.
type health struct {
	Status map[corev1.IPFamily]struct {
		LastUpdated time.Time `json:"lastUpdated"`
	} `json:"status"`
}

// askHealth asks the kube-proxy of a namespace.
func askHealth(ctx context.Context, namespace string) (health, error) {
	client := http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return netns.Dial(ctx, namespace, network, address)
		}},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, healthz, nil)
	if err != nil {
		return health{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return health{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return health{}, fmt.Errorf("GET %s: %s", healthz, response.Status)
	}
	var answer health
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return health{}, fmt.Errorf("GET %s: %w", healthz, err)
	}
	return answer, nil
}
