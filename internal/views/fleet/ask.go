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
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/children"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/wire"
)

const (
	// path is where endpoint-views says how far its proxies follow.
	path          = "/api/v1/fleets"
	longestAnswer = 64 << 20
	longestFile   = 1 << 20
	longestText   = 1000
)

// stream is one proxy, as endpoint-views says it.
type stream struct {
	Client     string    `json:"client"`
	Node       string    `json:"node"`
	Since      time.Time `json:"since"`
	Generation int64     `json:"generation"`
	Rejected   []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"rejected"`
}

func (s *stream) stream() children.Stream {
	one := children.Stream{Pod: s.Node, Since: s.Since, Generation: s.Generation}
	var all []string
	for _, r := range s.Rejected {
		all = append(all, r.Type+": "+r.Text)
	}
	one.Rejected = wire.Cut(wire.Printable(strings.Join(all, "; ")), longestText)
	return one
}

// object is what becomes of the object of a fleet, as endpoint-views says it.
type object struct {
	Client     string `json:"client"`
	Generation int64  `json:"generation"`
	Problem    string `json:"problem"`
	Unresolved []struct {
		Port   int32  `json:"port"`
		Route  int    `json:"route"`
		Reason string `json:"reason"`
		Text   string `json:"text"`
	} `json:"unresolved"`
	More  int      `json:"more"`
	Notes []string `json:"notes"`
}

func (o *object) served() children.Served {
	one := children.Served{Generation: o.Generation, Problem: wire.Cut(wire.Printable(o.Problem), longestText), More: o.More}
	for _, u := range o.Unresolved {
		one.Unresolved = append(one.Unresolved, children.Unresolved{
			Port: u.Port, Route: u.Route, Reason: u.Reason, Text: wire.Cut(wire.Printable(u.Text), longestText),
		})
	}
	for _, text := range o.Notes {
		one.Notes = append(one.Notes, wire.Cut(wire.Printable(text), longestText))
	}
	return one
}

// answer is what a replica says.
type answer struct {
	Streams []stream `json:"streams"`
	Objects []object `json:"objects"`
}

// asker asks replicas in one round.
type asker struct {
	http  *http.Client
	of    *Streams
	token string
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
	if err := json.NewDecoder(io.LimitReader(response.Body, longestAnswer)).Decode(&said); err != nil {
		return answer{}, fmt.Errorf("read the answer of %s: %w", server.Host, err)
	}
	return said, nil
}
