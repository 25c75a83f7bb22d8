package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

const (
	// longestStatus and longestAnswer bound what is read, in bytes.
	longestStatus = 1 << 20
	longestAnswer = 512 << 20
)

// remote is a running endpoint-views.
type remote struct {
	*getFlags

	address string
	client  *http.Client
}

func newRemote(a *getFlags) (*remote, error) {
	address, err := url.Parse(a.server)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, errors.New("--server is no URL of scheme http or https; write for example https://endpoint-views:8443")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.certificate != "" || a.key != "" {
		pair, err := tls.LoadX509KeyPair(a.certificate, a.key)
		if err != nil {
			return nil, fmt.Errorf("read --certificate and --key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if a.authority != "" {
		text, err := os.ReadFile(a.authority)
		if err != nil {
			return nil, fmt.Errorf("read --ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--ca=%s holds no certificate in PEM", a.authority)
		}
	}
	if at, _ := netip.ParseAddr(address.Hostname()); a.tokenFile != "" && address.Scheme != "https" && !at.IsLoopback() && address.Hostname() != "localhost" {
		return nil, errors.New("a token is not sent without TLS; give --server an address of scheme https")
	}
	over := &http.Transport{TLSClientConfig: config, Proxy: transport.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	return &remote{getFlags: a, address: strings.TrimSuffix(a.server, "/"), client: &http.Client{Transport: over}}, nil
}

// token is that of this client, read anew for each request.
func (r *remote) token() (string, error) {
	text, err := os.ReadFile(r.tokenFile)
	if err != nil {
		return "", fmt.Errorf("read --token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// ask asks for a path, and reads an answer that is 200.
func (r *remote) ask(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.address+path, http.NoBody)
	if err != nil {
		return err
	}
	if r.tokenFile != "" {
		token, err := r.token()
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(io.LimitReader(response.Body, longestAnswer)).Decode(answer); err != nil {
			return fmt.Errorf("read the answer of %s: %w", r.address, err)
		}
		return nil
	}
	status := &views.Status{}
	if json.NewDecoder(io.LimitReader(response.Body, longestStatus)).Decode(status) != nil || status.Message == "" {
		return fmt.Errorf("%s answers %s", r.address, response.Status)
	}
	return fmt.Errorf("%s: %w", r.address, status)
}

func (r *remote) list(ctx context.Context) ([]json.RawMessage, error) {
	query := url.Values{}
	for name, on := range map[string]bool{"gather": r.gather, "ready": r.ready} {
		if on {
			query.Set(name, "true")
		}
	}
	if !r.all {
		query.Set("namespace", r.namespace)
	}
	if r.service != "" {
		query.Set("service", r.service)
	}
	var answer struct {
		Metadata views.ListMetadata `json:"metadata"`
		Items    []json.RawMessage  `json:"items"`
	}
	err := r.ask(ctx, "/api/v1/views?"+query.Encode(), &answer)
	if err == nil && answer.Items == nil {
		err = fmt.Errorf("the answer of %s is no list; is it an endpoint-views?", r.address)
	}
	// What is shown may be out of date.
	if since := answer.Metadata.Annotations[views.AnnotationStaleSince]; err == nil && since != "" {
		fmt.Fprintf(r.Stderr, "The server has had no event from its API server since %s: this is the last state.\n", transport.Printable(since))
	}
	return answer.Items, err
}
