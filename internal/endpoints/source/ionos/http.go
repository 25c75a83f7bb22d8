package ionos

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	ionoscloud "github.com/ionos-cloud/sdk-go/v6"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// basePath is what the SDK's paths are relative to.
	basePath = "/cloudapi/v6"
	// pageSize is the most that the API gives at once.
	pageSize = 1000
	// maxPages bounds a list that never ends.
	maxPages = 50
	// maxBody bounds one answer; a thousand servers at depth 3 are 8 MB.
	maxBody = 32 << 20
	// requestTimeout bounds one request where the read has no shorter deadline.
	requestTimeout = 30 * time.Second
	// pingAfter is how long a connection of HTTP/2 may be silent before a ping is
	// sent on it, pingTimeout how long the answer may take before the connection
	// is closed. Without pings a dead connection is used for as long as the
	// operating system sends its data again, a quarter of an hour.
	pingAfter   = 5 * time.Second
	pingTimeout = 3 * time.Second
	// maxRetryAfter bounds how long the service can keep us from asking.
	maxRetryAfter = time.Hour
	// mostSaid is how many bytes of the service's own words an error has.
	mostSaid = 200
	// headerRetryAfter is where the SDK does not find Retry-After, which it takes for
	// a mistake when it is a date, and leaves the connection open.
	headerRetryAfter = "X-Original-Retry-After"
)

// client asks the IONOS Cloud API, one request at a time. It returns documents as
// they are; see document.
type client struct {
	*sdkTransport
	place

	sdk     *ionoscloud.APIClient
	cluster string
	// sent is how many requests were sent.
	sent int
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
	sends := newTransport(options)
	config := &ionoscloud.Configuration{
		Servers:    ionoscloud.ServerConfigurations{{URL: baseURL(options.APIURL)}},
		UserAgent:  "ionos-endpointslice-controller",
		LogLevel:   ionoscloud.Off,
		MaxRetries: 1, // the caller backs off, and honours Retry-After
		HTTPClient: &http.Client{},
	}
	sdk := ionoscloud.NewAPIClient(config)
	// Only now: where IONOS_PINNED_CERT is set, the SDK puts another transport
	// into the client that it is given.
	config.HTTPClient = &http.Client{
		Transport: sends,
		Timeout:   requestTimeout,
		// A redirect to another port of the same host would carry the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &client{sdkTransport: sends, place: place{options.LANID, options.DatacenterID}, sdk: sdk, cluster: options.ClusterID}
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

// cards lists the network cards of the LAN.
func (c *client) cards(ctx context.Context) (directory, error) {
	about := c.lanSubject("list the network cards of")
	return c.directory(about, directoryOfLAN, func(offset, limit int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := c.sdk.LANsApi.DatacentersLansNicsGet(ctx, c.datacenter, strconv.Itoa(c.lan)).
			Depth(1).Pretty(false).Offset(offset).Limit(limit).Execute()
		return answer, err
	})
}

// servers lists all servers with their names and network cards.
func (c *client) servers(ctx context.Context) (directory, error) {
	about := subject{"list the servers of data centre " + c.datacenter, "correct IONOS_DATACENTER_ID=" + c.datacenter + ", which the API does not know"}
	return c.directory(about, directoryOfServers, func(offset, limit int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := c.sdk.ServersApi.DatacentersServersGet(ctx, c.datacenter).
			Depth(3).Pretty(false).Offset(offset).Limit(limit).Execute()
		return answer, err
	})
}

// directory reads a list and translates it.
func (c *client) directory(about subject, translate func([]document, int) (directory, error), ask call) (directory, error) {
	all, err := c.list(about, pageSize, ask)
	if err != nil {
		return directory{}, err
	}
	found, err := translate(all, c.lan)
	return found, about.wrap(err)
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

// managedCluster reads the nodes of a cluster that IONOS manages, one request for the
// node pools and one for each of them.
type managedCluster struct {
	*client
	// selector is nil where every node is meant.
	selector labels.Selector
}

// Read implements NodeReader.
func (m managedCluster) Read(ctx context.Context) ([]inventory.Node, error) {
	about := subject{"list the node pools of cluster " + m.cluster, "correct IONOS_CLUSTER_ID=" + m.cluster + ", which the API does not know"}
	pools, err := m.list(about, 0, func(_, _ int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := m.sdk.KubernetesApi.K8sNodepoolsGet(ctx, m.cluster).Depth(1).Pretty(false).Execute()
		return answer, err
	})
	if err != nil {
		return nil, err
	}
	nodes, seen := []inventory.Node{}, map[string]bool{}
	for _, pool := range pools {
		if err := completePool(pool, m.selector); err != nil {
			return nil, about.wrap(err)
		}
		members, err := m.members(ctx, pool)
		if err != nil {
			return nil, err
		}
		for _, node := range members {
			if seen[node.ID] {
				return nil, fmt.Errorf("node pool %s: node %s is listed before", pool.ID, node.ID)
			}
			seen[node.ID] = true
		}
		nodes = append(nodes, members...)
	}
	return nodes, nil
}

// members lists the nodes of one node pool.
func (m managedCluster) members(ctx context.Context, pool document) ([]inventory.Node, error) {
	about := subject{"list the nodes of node pool " + pool.ID, "if the pool was not deleted just now, correct IONOS_CLUSTER_ID=" + m.cluster}
	documents, err := m.list(about, 0, func(_, _ int32) (*ionoscloud.APIResponse, error) {
		_, answer, err := m.sdk.KubernetesApi.K8sNodepoolsNodesGet(ctx, m.cluster, pool.ID).Depth(1).Pretty(false).Execute()
		return answer, err
	})
	if err != nil {
		return nil, err
	}
	nodes := make([]inventory.Node, len(documents))
	for i, d := range documents {
		if nodes[i], err = poolNode(d, *pool.Properties, m.selector); err != nil {
			return nil, fmt.Errorf("node pool %s: %w", pool.ID, err)
		}
	}
	return nodes, nil
}

// list reads a list to its end: while an answer names a next page or, where it
// has no links at all, while it is full. It returns everything once; if one page
// fails there is no page at all. With size 0 the call has no pages.
func (c *client) list(about subject, size int32, ask call) ([]document, error) {
	all, seen := []document{}, map[string]bool{}
	for page, offset := 1, int32(0); page <= maxPages; page++ {
		payload, err := c.fetch(about, ask, offset, size)
		if err != nil {
			return nil, err
		}
		found, err := decodePage(payload)
		if err != nil {
			return nil, about.wrap(err)
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
			return all, nil
		case size == 0:
			return nil, about.wrap(partial(errors.New("the answer says that there are further pages, which cannot be asked for")))
		case len(all) == before:
			return nil, about.wrap(partial(errors.New("the answer announces more items, but the next page has no new item")))
		}
		offset += int32(len(*found.Items))
	}
	return nil, about.wrap(partial(fmt.Errorf("the list does not end after %d pages", maxPages)))
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
	c.sent++
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

// sdkTransport does for every request what the SDK leaves undone or does wrong: it
// keeps connections, sets the credentials of this moment, bounds the answer, and
// notes the rate limit. It belongs to one client.
type sdkTransport struct {
	base        http.RoundTripper
	credentials *credentials
	limits      atomic.Pointer[RateLimit]
}

// newTransport owns its connections; it never touches http.DefaultClient. What
// Wrap makes is the last to see a request.
func newTransport(options Options) *sdkTransport {
	base := &http.Transport{}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		base = standard.Clone()
	}
	base.Proxy = transport.ProxyFromEnvironment
	base.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	t := &sdkTransport{base: base, credentials: &credentials{now: options.Credentials}}
	if options.Wrap != nil {
		t.base = options.Wrap(base)
	}
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *sdkTransport) RoundTrip(original *http.Request) (*http.Response, error) {
	request := original.Clone(original.Context())
	request.Close = false // the SDK closes the connection after each request
	// The SDK takes this one from the environment, at every request.
	request.Header.Del("X-Contract-Number")
	header, err := t.credentials.header()
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", header)
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if limits, ok := rateLimit(response.Header, time.Now()); ok {
		t.limits.Store(&limits)
	}
	if after := response.Header.Values("Retry-After"); len(after) > 0 {
		response.Header[headerRetryAfter] = after
		response.Header.Del("Retry-After")
	}
	// Cut short, an answer could look complete: this one fails.
	response.Body = http.MaxBytesReader(nil, response.Body, maxBody)
	return response, nil
}

// CloseIdleConnections lets http.Client close them.
func (t *sdkTransport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// RateLimit is what the service said about its limits in its last answer.
type RateLimit struct {
	// Limit is the requests allowed in a minute, Burst those at once, Remaining
	// those left.
	Limit, Burst, Remaining int
	// At is when the service said it.
	At time.Time
}

// rateLimit reads the limits from an answer, if it has them.
func rateLimit(header http.Header, now time.Time) (RateLimit, bool) {
	said := func(name string, fallback int) int {
		if value, err := strconv.Atoi(header.Get("X-RateLimit-" + name)); err == nil {
			return max(value, 0)
		}
		return fallback
	}
	limit := said("Limit", 0)
	return RateLimit{Limit: limit, Burst: said("Burst", 0), Remaining: said("Remaining", limit), At: now}, limit > 0
}

// credentials are read again for every request, so that a rotated token works
// at once.
type credentials struct {
	now func() Credentials
	// basic says that a user and the password were used last.
	basic bool
	// expiry is when the token used last expires, zero if it does not say.
	expiry atomic.Pointer[time.Time]
	// secrets are those that were used, which no error may repeat.
	secrets transport.Secrets
}

// header returns the value of Authorization at this moment.
func (c *credentials) header() (string, error) {
	now := c.now()
	if c.basic = now.Token == nil; c.basic {
		c.expiry.Store(nil)
		password, err := now.Password()
		if err != nil {
			return "", fmt.Errorf("IONOS_PASSWORD cannot be read: %w", err)
		}
		password = strings.TrimSpace(password)
		encoded := base64.StdEncoding.EncodeToString([]byte(now.Username + ":" + password))
		c.secrets.Add(password, encoded)
		return "Basic " + encoded, nil
	}
	token, err := now.Token()
	if err != nil {
		return "", fmt.Errorf("IONOS_TOKEN cannot be read: %w", err)
	}
	token = plainToken(token)
	if token == "" {
		return "", errors.New("IONOS_TOKEN is empty; set it, or write the token to the file that IONOS_TOKEN_FILE names")
	}
	_, expires := transport.TokenValidity(token)
	c.expiry.Store(&expires)
	c.secrets.Add(token)
	return "Bearer " + token, nil
}

// expires returns when the token used last expires.
func (c *credentials) expires() (time.Time, bool) {
	if at := c.expiry.Load(); at != nil {
		return *at, !at.IsZero()
	}
	return time.Time{}, false
}

// variable names what the operator has to renew.
func (c *credentials) variable() string {
	if c.basic {
		return "IONOS_USERNAME and IONOS_PASSWORD"
	}
	return "IONOS_TOKEN"
}

// plainToken is the token without what people copy along with it.
func plainToken(text string) string {
	words := strings.Fields(text)
	if len(words) > 0 && strings.EqualFold(words[0], "bearer") {
		words = words[1:]
	}
	return strings.Join(words, " ")
}

// refused is the error while the service wants to be left alone.
func (c *client) refused() error {
	if wait := time.Until(c.until); wait > 0 {
		return &transport.RetryAfterError{Err: fmt.Errorf("not asked for another %s, as the API demanded: %w", wait.Round(time.Second), c.refusal), After: wait}
	}
	return nil
}

// explain turns what the SDK returned into our error, and remembers what the
// service demanded. The SDK's own text may hold the whole answer, and the address
// with all its parameters.
func (c *client) explain(about subject, answer *ionoscloud.APIResponse, err error) error {
	status := answer.SafeStatusCode()
	if status == 0 || status == http.StatusOK && err != nil {
		return fmt.Errorf("%s: %w", about.name, cause(err))
	}
	text := fmt.Sprintf("%s: the IONOS API answers %d %s", about.name, status, http.StatusText(status))
	if said := c.said(status, err); said != "" {
		text += " (" + said + ")"
	}
	if remedy := c.remedy(status, about.remedy); remedy != "" {
		text += "; " + remedy
	}
	said := http.Header{"Retry-After": answer.Header[headerRetryAfter], "Date": answer.Header["Date"]}
	wait := transport.RetryAfter(said, time.Now(), maxRetryAfter)
	if wait <= 0 {
		return refusal(status, errors.New(text))
	}
	c.until = time.Now().Add(wait)
	c.refusal = refusal(status, fmt.Errorf("%s; not asked again for %s", text, wait.Round(time.Second)))
	return &transport.RetryAfterError{Err: c.refusal, After: wait}
}

// refusal says where the credentials are what is refused.
func refusal(status int, err error) error {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return inventory.Fault(inventory.ErrUnauthorized, err)
	}
	return err
}

// remedy says what to do about a status.
func (c *client) remedy(status int, unknown string) string {
	renew := "renew " + c.credentials.variable()
	switch {
	case status == http.StatusUnauthorized:
		if at, ok := c.credentials.expires(); ok && at.Before(time.Now()) {
			return fmt.Sprintf("the token expired at %s: %s", at.UTC().Format(time.RFC3339), renew)
		}
		return renew + ", which the API does not accept"
	case status == http.StatusForbidden:
		return unknown + ", or give the user of " + c.credentials.variable() + " the right to read it"
	case status == http.StatusNotFound:
		return unknown
	case status == http.StatusTooManyRequests:
		return "the contract's rate limit is used up: ask less often with SOURCE_POLL_INTERVAL"
	case status >= 300 && status < 400:
		return "redirects are not followed, because they would carry the token along: correct IONOS_API_URL"
	}
	return ""
}

// said is what the service says in its error, on one line. It is nothing where that
// repeats a credential, or is about one, of which it may repeat a part.
func (c *client) said(status int, err error) string {
	var failure ionoscloud.GenericOpenAPIError
	if status == http.StatusUnauthorized || !errors.As(err, &failure) {
		return ""
	}
	model, ok := failure.Model().(ionoscloud.Error)
	if !ok || model.Messages == nil {
		return ""
	}
	for _, message := range *model.Messages {
		if text := message.Message; text != nil && c.credentials.secrets.Hide(*text) == *text {
			return transport.Cut(transport.Printable(*text), mostSaid)
		}
	}
	return ""
}

// cause is the error without the address that net/http puts around it, and
// without an answer that the SDK quotes.
func cause(err error) error {
	outer := new(url.Error)
	large := new(http.MaxBytesError)
	var failure ionoscloud.GenericOpenAPIError
	switch {
	case errors.As(err, &large):
		return partial(fmt.Errorf("the answer is larger than %d bytes", large.Limit))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return partial(io.ErrUnexpectedEOF)
	case errors.As(err, &outer):
		return outer.Err
	case errors.As(err, &failure):
		return errors.New("the answer does not have the form that the API documents")
	case err == nil:
		return errNoAnswer
	}
	return err
}
