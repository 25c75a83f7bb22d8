package ionos

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	ionoscloud "github.com/ionos-cloud/sdk-go/v6"
)

const (
	// basePath is what the SDK's paths are relative to.
	basePath = "/cloudapi/v6"
	// pageSize is the most that the API gives at once.
	pageSize = 1000
	// maxPages bounds a list that never ends.
	maxPages = 50
)

// api is the IONOS Cloud API, as far as it is asked. It returns raw answers:
// documents.go says why.
type api struct {
	sdk         *ionoscloud.APIClient
	http        *http.Client
	transport   *transport
	credentials *credentials
	datacenter  string
	lanID       int
	cluster     string

	mu sync.Mutex
	// until is when the service may be asked again, refusal what it said.
	until   time.Time
	refusal error
}

// newAPI makes the client and asks nothing. The configuration is not made by the
// SDK's own function, which reads IONOS_LOG_LEVEL, and trace prints the token.
func newAPI(options Options) *api {
	credentials := &credentials{token: options.Token, username: options.Username, password: options.Password}
	client, transport := newHTTPClient(credentials, options.Wrap)
	config := &ionoscloud.Configuration{
		Servers:    ionoscloud.ServerConfigurations{{URL: baseURL(options.APIURL)}},
		UserAgent:  options.UserAgent,
		LogLevel:   ionoscloud.Off,
		MaxRetries: 1, // the caller backs off, and honours Retry-After
		HTTPClient: &http.Client{},
	}
	sdk := ionoscloud.NewAPIClient(config)
	// Only now: where IONOS_PINNED_CERT is set, the SDK puts another transport
	// into the client that it is given.
	config.HTTPClient = client
	return &api{
		sdk: sdk, http: client, transport: transport, credentials: credentials,
		datacenter: options.DatacenterID, lanID: options.LANID, cluster: options.ClusterID,
	}
}

// baseURL completes IONOS_API_URL: a scheme may be missing, a slash may be too
// many, and the API's own path may be there or not.
func baseURL(address string) string {
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	if address == "" {
		return ionoscloud.DefaultIonosServerUrl
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	return strings.TrimSuffix(address, basePath) + basePath
}

// fetch carries one request out and returns the whole answer.
func (a *api) fetch(about subject, call func() (*ionoscloud.APIResponse, error)) ([]byte, error) {
	if err := a.refused(); err != nil {
		return nil, fmt.Errorf("%s: %w", about.name, err)
	}
	answer, err := call()
	if answer != nil && answer.Response != nil {
		// The SDK leaves it open where its own rules fail.
		defer answer.Body.Close()
	}
	if answer.SafeStatusCode() == http.StatusOK && answer.Payload != nil && !transportFailed(err) {
		return answer.Payload, nil
	}
	failure := a.explain(about, answer, err)
	a.refuse(failure)
	return nil, failure
}

// refused is the error while the service wants to be left alone.
func (a *api) refused() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait := time.Until(a.until); wait > 0 {
		return &waitError{fmt.Errorf("not asked for another %s, as the API demanded: %w", wait.Round(time.Second), a.refusal), wait}
	}
	return nil
}

// refuse remembers what the service demanded.
func (a *api) refuse(err error) {
	wait, ok := err.(*waitError) //nolint:errorlint // explain has just made it
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until, a.refusal = time.Now().Add(wait.wait), wait.error
}

// nics lists the network cards of the LAN, and says how many requests it took.
func (a *api) nics(ctx context.Context) ([]nicDocument, int, error) {
	about := a.lanSubject("list the network cards of LAN ")
	return pages[nicDocument](about, func(offset, limit int32) ([]byte, error) {
		return a.fetch(about, func() (*ionoscloud.APIResponse, error) {
			_, answer, err := a.sdk.LANsApi.DatacentersLansNicsGet(ctx, a.datacenter, strconv.Itoa(a.lanID)).
				Depth(1).Pretty(false).Offset(offset).Limit(limit).Execute()
			return answer, err
		})
	})
}

// servers lists all servers with their names and network cards.
func (a *api) servers(ctx context.Context) ([]serverDocument, int, error) {
	about := subject{
		name:   "list the servers of data centre " + a.datacenter,
		remedy: "correct IONOS_DATACENTER_ID=" + a.datacenter + ", which the API does not know",
	}
	return pages[serverDocument](about, func(offset, limit int32) ([]byte, error) {
		return a.fetch(about, func() (*ionoscloud.APIResponse, error) {
			_, answer, err := a.sdk.ServersApi.DatacentersServersGet(ctx, a.datacenter).
				Depth(3).Pretty(false).Offset(offset).Limit(limit).Execute()
			return answer, err
		})
	})
}

// lan reads the LAN's own properties.
func (a *api) lan(ctx context.Context) (lanDocument, error) {
	about := a.lanSubject("read LAN ")
	payload, err := a.fetch(about, func() (*ionoscloud.APIResponse, error) {
		_, answer, err := a.sdk.LANsApi.DatacentersLansFindById(ctx, a.datacenter, strconv.Itoa(a.lanID)).
			Depth(1).Pretty(false).Execute()
		return answer, err
	})
	if err != nil {
		return lanDocument{}, err
	}
	document, err := decode[lanDocument](payload)
	if err == nil && document.Properties == nil {
		err = errNoProperties
	}
	if err != nil {
		return lanDocument{}, fmt.Errorf("%s: %w", about.name, err)
	}
	return document, nil
}

func (a *api) lanSubject(what string) subject {
	return subject{
		name: fmt.Sprintf("%s%d of data centre %s", what, a.lanID, a.datacenter),
		remedy: fmt.Sprintf("correct IONOS_PRIVATE_LAN_ID=%d or IONOS_DATACENTER_ID=%s, one of which the API does not know",
			a.lanID, a.datacenter),
	}
}

// pools lists the node pools of the managed cluster. The call has no pages.
func (a *api) pools(ctx context.Context) ([]poolDocument, error) {
	about := subject{
		name:   "list the node pools of cluster " + a.cluster,
		remedy: "correct IONOS_CLUSTER_ID=" + a.cluster + ", which the API does not know",
	}
	return whole[poolDocument](about, func() ([]byte, error) {
		return a.fetch(about, func() (*ionoscloud.APIResponse, error) {
			_, answer, err := a.sdk.KubernetesApi.K8sNodepoolsGet(ctx, a.cluster).Depth(1).Pretty(false).Execute()
			return answer, err
		})
	})
}

// nodes lists the nodes of one node pool. The call has no pages.
func (a *api) nodes(ctx context.Context, pool string) ([]nodeDocument, error) {
	about := subject{
		name:   "list the nodes of node pool " + pool,
		remedy: "if the pool was not deleted just now, correct IONOS_CLUSTER_ID=" + a.cluster,
	}
	return whole[nodeDocument](about, func() ([]byte, error) {
		return a.fetch(about, func() (*ionoscloud.APIResponse, error) {
			_, answer, err := a.sdk.KubernetesApi.K8sNodepoolsNodesGet(ctx, a.cluster, pool).Depth(1).Pretty(false).Execute()
			return answer, err
		})
	})
}

// transportFailed reports whether the answer did not arrive as a whole. What the
// SDK could not decode did arrive.
func transportFailed(err error) bool {
	if err == nil {
		return false
	}
	_, decoded := err.(ionoscloud.GenericOpenAPIError) //nolint:errorlint // the SDK returns the value as it is
	return !decoded
}
