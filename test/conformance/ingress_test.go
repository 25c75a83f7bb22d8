//go:build lab

package conformance_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// ingress asks through Traefik, by the host name of a target's Ingress.
type ingress struct{ client http.Client }

const ingressAddress = "127.0.0.1:8000"

func startTraefik(t *testing.T, w *world) *ingress {
	t.Helper()
	run(t, "traefik", []string{"KUBECONFIG=" + w.cp.Kubeconfig(t)}, built.Tool(t, "traefik"),
		"--providers.kubernetesingress", "--providers.kubernetesingress.allowemptyservices", "--entrypoints.web.address="+ingressAddress,
		"--global.checknewversion=false", "--global.sendanonymoususage=false", "--log.level=INFO")
	return &ingress{http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// ask sends requests one after the other, each on a connection of its own.
// Traefik chooses the family.
func (c *ingress) ask(t *testing.T, x *target, _ string, n int) answers {
	t.Helper()
	got := newAnswers()
	for range n {
		status, body, err := c.fetch(t.Context(), x.host())
		switch {
		case err != nil:
			got.failures[err.Error()]++
			return got // it may hang: more requests would show the same
		case status == http.StatusOK:
			got.by[body]++
		default:
			got.failures[fmt.Sprintf("%d %s", status, http.StatusText(status))]++
		}
	}
	return got
}

func (c *ingress) fetch(ctx context.Context, host string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ingressAddress, nil)
	if err != nil {
		return 0, "", err
	}
	request.Host = host
	response, err := c.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
