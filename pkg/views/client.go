package views

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options say which views a Client is told of, and by whom.
type Options struct {
	// Servers are the addresses of replicas, such as https://endpoint-views:8443. The
	// client uses one, and the next where that fails; each can go on where another
	// ended.
	Servers []string
	// HTTP sends the requests, with the client's certificate where there is one. It
	// must have no Timeout, which would end streams. http.DefaultClient by default.
	HTTP *http.Client
	// Token returns the token of this client; nil where a certificate takes its place. It is
	// called for each request, so that a token that changes is used at once.
	Token func() (string, error)
	// Namespaces are those wanted; none for all that the client may see.
	Namespaces []string
	// Service is the name of the one Service wanted; empty for all.
	Service string
	// Ready asks only for endpoints that may be sent new connections.
	Ready bool
	// OnError is told why a stream ended or could not be had. The client goes on by
	// itself. It may be nil.
	OnError func(error)
}

// Client is told of views. Its methods may be called at the same time.
type Client struct{ opts Options }

// New checks the options. It does not connect.
func New(opts Options) (*Client, error) {
	if len(opts.Servers) == 0 {
		return nil, errors.New("views: an address of a server is needed")
	}
	for _, server := range opts.Servers {
		if u, err := url.Parse(server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("views: the address of a server is no URL of scheme http or https; write for example https://endpoint-views:8443")
		}
	}
	if opts.HTTP == nil {
		opts.HTTP = http.DefaultClient
	}
	if opts.HTTP.Timeout != 0 {
		return nil, errors.New("views: the HTTP client has a Timeout, which would end every stream; set none")
	}
	if opts.OnError == nil {
		opts.OnError = func(error) {}
	}
	return &Client{opts: opts}, nil
}

const (
	// longestList bounds a list, longestSilence the time without a word on a stream.
	// The server sends a bookmark every 10 s.
	longestList    = time.Minute
	longestSilence = 25 * time.Second
	// longestLine and longestAnswer bound what is read, in bytes.
	longestLine   = 64 << 20
	longestAnswer = 512 << 20
)

// List returns the views as they are.
func (c *Client) List(ctx context.Context) ([]EndpointView, error) {
	return list[EndpointView](ctx, c, false)
}

// ListPorts returns one object for each port of each Service.
func (c *Client) ListPorts(ctx context.Context) ([]ServicePortView, error) {
	return list[ServicePortView](ctx, c, true)
}

// list asks each server in turn until one answers.
func list[T any](ctx context.Context, c *Client, gather bool) ([]T, error) {
	var all []error
	for _, server := range c.opts.Servers {
		items, err := listAt[T](ctx, c, server, gather)
		if err == nil {
			return items, nil
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

func listAt[T any](ctx context.Context, c *Client, server string, gather bool) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, longestList)
	defer cancel()
	query := c.query()
	if gather {
		query.Set("gather", "true")
	}
	response, err := c.get(ctx, server, query)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Items []T `json:"items"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, longestAnswer)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read the list of %s: %w", server, err)
	}
	if answer.Items == nil {
		return nil, fmt.Errorf("the answer of %s is no list", server)
	}
	return answer.Items, nil
}

// query is what every request asks for.
func (c *Client) query() url.Values {
	query := url.Values{}
	if len(c.opts.Namespaces) > 0 {
		query.Set("namespace", strings.Join(c.opts.Namespaces, ","))
	}
	if c.opts.Service != "" {
		query.Set("service", c.opts.Service)
	}
	if c.opts.Ready {
		query.Set("ready", "true")
	}
	return query
}

// get sends a request, and returns an answer that is 200.
func (c *Client) get(ctx context.Context, server string, query url.Values) (*http.Response, error) {
	address := strings.TrimSuffix(server, "/") + "/api/v1/views?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	if c.opts.Token != nil {
		token, err := c.opts.Token()
		if err != nil {
			return nil, fmt.Errorf("get the token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.opts.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	return nil, fmt.Errorf("%s: %w", server, statusOf(response))
}

// statusOf is what an answer other than 200 says.
func statusOf(response *http.Response) *Status {
	status := &Status{}
	if json.NewDecoder(io.LimitReader(response.Body, longestLine)).Decode(status) != nil || status.Kind != "Status" {
		*status = Status{Message: response.Status, Reason: "Unknown"}
	}
	status.Code = response.StatusCode
	return status
}
