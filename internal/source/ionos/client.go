package ionos

import (
	"context"
	"errors"
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

// Why a list is no whole one.
var (
	errNoProgress   = errors.New("the answer says that there is more, and further pages hold nothing new")
	errMorePages    = errors.New("the answer says that there are further pages, which cannot be asked for")
	errTooManyPages = fmt.Errorf("the list does not end after %d pages", maxPages)
)

// client asks the IONOS Cloud API. It returns documents as they are: documents.go
// says why.
type client struct {
	sdk        *ionoscloud.APIClient
	http       *http.Client
	transport  *transport
	datacenter string
	lan        int
	cluster    string

	mu sync.Mutex
	// until is when the service may be asked again, refusal what it said.
	until   time.Time
	refusal error
}

// subject is what a request is about: its name in errors, and what to correct
// where the service knows nothing of it.
type subject struct {
	name, remedy string
}

// wrap adds the name to an error, if there is one.
func (s subject) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// call sends one request for a page of a list.
type call func(offset, limit int32) (*ionoscloud.APIResponse, error)

// newClient makes the client and asks nothing. The configuration is not made by
// the SDK's own function, which reads IONOS_LOG_LEVEL, and trace prints the token.
func newClient(options Options) *client {
	transport := newTransport(options)
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
	config.HTTPClient = &http.Client{
		Transport: transport,
		Timeout:   requestTimeout,
		// A redirect to another port of the same host would carry the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &client{
		sdk: sdk, http: config.HTTPClient, transport: transport,
		datacenter: options.DatacenterID, lan: options.LANID, cluster: options.ClusterID,
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

// cards lists the network cards of the LAN, and says how many requests it took.
func (c *client) cards(ctx context.Context) (directory, int, error) {
	about := c.lanSubject("list the network cards of")
	nics, requests, err := c.list(about, pageSize, func(offset, limit int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := c.sdk.LANsApi.DatacentersLansNicsGet(ctx, c.datacenter, strconv.Itoa(c.lan)).
			Depth(1).Pretty(false).Offset(offset).Limit(limit).Execute()
		return answer, err
	})
	if err != nil {
		return directory{}, requests, err
	}
	found, err := directoryOfLAN(nics, c.lan)
	return found, requests, about.wrap(err)
}

// servers lists all servers with their names and network cards.
func (c *client) servers(ctx context.Context) (directory, int, error) {
	about := subject{"list the servers of data centre " + c.datacenter, "correct IONOS_DATACENTER_ID=" + c.datacenter + ", which the API does not know"}
	servers, requests, err := c.list(about, pageSize, func(offset, limit int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := c.sdk.ServersApi.DatacentersServersGet(ctx, c.datacenter).
			Depth(3).Pretty(false).Offset(offset).Limit(limit).Execute()
		return answer, err
	})
	if err != nil {
		return directory{}, requests, err
	}
	found, err := directoryOfServers(servers, c.lan)
	return found, requests, about.wrap(err)
}

// network reads the LAN itself.
func (c *client) network(ctx context.Context) (document, error) {
	about := c.lanSubject("read")
	payload, err := c.fetch(about, func(_, _ int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := c.sdk.LANsApi.DatacentersLansFindById(ctx, c.datacenter, strconv.Itoa(c.lan)).
			Depth(1).Pretty(false).Execute()
		return answer, err
	}, 0, 0)
	if err != nil {
		return document{}, err
	}
	lan, err := decode[document](payload)
	return lan, about.wrap(err)
}

func (c *client) lanSubject(verb string) subject {
	return subject{
		name: fmt.Sprintf("%s LAN %d of data centre %s", verb, c.lan, c.datacenter),
		remedy: fmt.Sprintf("correct IONOS_PRIVATE_LAN_ID=%d or IONOS_DATACENTER_ID=%s, one of which the API does not know",
			c.lan, c.datacenter),
	}
}

// pools lists the node pools of the managed cluster.
func (c *client) pools(ctx context.Context) ([]document, error) {
	about := subject{"list the node pools of cluster " + c.cluster, "correct IONOS_CLUSTER_ID=" + c.cluster + ", which the API does not know"}
	pools, _, err := c.list(about, 0, func(_, _ int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := c.sdk.KubernetesApi.K8sNodepoolsGet(ctx, c.cluster).Depth(1).Pretty(false).Execute()
		return answer, err
	})
	return pools, err
}

// nodes lists the nodes of one node pool.
func (c *client) nodes(ctx context.Context, pool string) ([]document, error) {
	about := subject{"list the nodes of node pool " + pool, "if the pool was not deleted just now, correct IONOS_CLUSTER_ID=" + c.cluster}
	nodes, _, err := c.list(about, 0, func(_, _ int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := c.sdk.KubernetesApi.K8sNodepoolsNodesGet(ctx, c.cluster, pool).Depth(1).Pretty(false).Execute()
		return answer, err
	})
	return nodes, err
}

// list reads a list to its end: while an answer names a next page or, where it
// has no links at all, while it is full. It returns everything once, and how many
// requests that took; if one page fails there is no page at all. With size 0 the
// call has no pages.
func (c *client) list(about subject, size int32, ask call) ([]document, int, error) {
	all, seen := []document{}, map[string]bool{}
	for page, offset := 1, int32(0); page <= maxPages; page++ {
		payload, err := c.fetch(about, ask, offset, size)
		if err != nil {
			return nil, page, err
		}
		found, err := decodePage(payload)
		if err != nil {
			return nil, page, about.wrap(err)
		}
		before := len(all)
		for _, item := range *found.Items {
			if size == 0 || !seen[item.key()] {
				seen[item.key()] = true
				all = append(all, item)
			}
		}
		switch {
		case !found.more(size):
			return all, page, nil
		case size == 0:
			return nil, page, about.wrap(errMorePages)
		case len(all) == before:
			return nil, page, about.wrap(errNoProgress)
		}
		offset += int32(len(*found.Items))
	}
	return nil, maxPages, about.wrap(errTooManyPages)
}

// more reports whether there is a further page, for a call that asks for so many.
func (l list) more(size int32) bool {
	if l.Links != nil || size == 0 {
		return l.continues()
	}
	full := float64(size)
	if l.Limit >= 1 {
		full = min(full, l.Limit)
	}
	return float64(len(*l.Items)) >= full
}

// fetch carries one request out and returns the whole answer.
func (c *client) fetch(about subject, ask call, offset, limit int32) ([]byte, error) {
	if err := c.refused(); err != nil {
		return nil, about.wrap(err)
	}
	answer, err := ask(offset, limit)
	if answer != nil && answer.Response != nil {
		// The SDK leaves it open where its own rules fail.
		defer answer.Body.Close()
	}
	// What the SDK could not decode did arrive.
	_, decoded := err.(ionoscloud.GenericOpenAPIError) //nolint:errorlint // the SDK returns the value as it is
	if answer.SafeStatusCode() == http.StatusOK && answer.Payload != nil && (err == nil || decoded) {
		return answer.Payload, nil
	}
	return nil, c.explain(about, answer, err)
}
