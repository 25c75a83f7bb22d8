package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

const (
	// path is where endpoint-views says how far its proxies follow.
	path = "/api/v1/fleets"
	// longestAnswers is how much is read of the answers of all replicas together.
	longestAnswers = 32 << 20
	longestFile    = 1 << 20
)

// answer is what a replica says, or why it says nothing.
type answer struct {
	Streams []envoyconfig.ProxyState  `json:"streams"`
	Objects []envoyconfig.ObjectState `json:"objects"`
	err     error
}

// asker asks replicas in one round.
type asker struct {
	http  *http.Client
	of    *Streams
	token string
	most  int // of one answer
}

// client reads the files.
func (s *Streams) client() (*asker, error) {
	a := &asker{of: s}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.server.Hostname()}
	if file := s.opts.AuthorityFile; file != "" {
		text, err := system.ReadFile(file, longestFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", file)
		}
	}
	if file := s.opts.TokenFile; file != "" {
		text, err := system.ReadFile(file, longestFile)
		if err != nil {
			return nil, err
		}
		a.token = strings.TrimSpace(string(text))
	}
	a.http = &http.Client{
		Transport:     &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return a, nil
}

// ask asks one replica.
func (a *asker) ask(ctx context.Context, address string) (answer, error) {
	server := *a.of.server
	port := cmp.Or(server.Port(), map[string]string{"http": "80", "https": "443"}[server.Scheme])
	server.Host, server.Path = net.JoinHostPort(address, port), path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.String(), http.NoBody)
	if err != nil {
		return answer{}, err
	}
	request.Host = a.of.server.Host
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return answer{}, fmt.Errorf("%s answers %s", server.Host, response.Status)
	}
	var said answer
	if err := json.NewDecoder(io.LimitReader(response.Body, int64(a.most))).Decode(&said); err != nil {
		return answer{}, fmt.Errorf("read the first %d bytes of the answer of %s: %w", a.most, server.Host, err)
	}
	return said, nil
}
