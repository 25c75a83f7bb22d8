package stream_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
)

// loopback runs a server on the loopback, where every client sees everything.
func loopback(t *testing.T, c *cluster, stale func(time.Time) (time.Time, error)) string {
	t.Helper()
	server := run(t, stream.Options{
		Address: mustAddress("127.0.0.1:0"), Cache: c.Cache, MostClients: 10, MostOfOne: 10, Logger: discard(), Stale: stale,
	})
	return "http://" + server.Address().String()
}

func TestThePageShowsPortsWithoutAReadyEndpointFirst(t *testing.T) {
	c := newCluster(t, "blog", "shop")
	c.slice("shop", -1, -2)
	address := loopback(t, c, current)
	code, body := get(t, http.DefaultClient, address+"/", "")
	if code != http.StatusOK || !strings.Contains(body, "1 of 2 ports have ready endpoints") {
		t.Fatalf("got %d %s, want the headline", code, body)
	}
	if shop, blog := strings.Index(body, "shop/web"), strings.Index(body, "blog/web"); shop < 0 || blog < shop {
		t.Errorf("got blog/web at %d and shop/web at %d, want the one that is down first", blog, shop)
	}
	for _, want := range []string{"http 80/TCP", "10.0.0.2:8080", "down"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page says nothing of %q:\n%s", want, body)
		}
	}
	if _, body := get(t, http.DefaultClient, address+"/?namespace=blog", ""); strings.Contains(body, "shop/web") {
		t.Error("a page of one namespace shows another")
	}
	if code, body := get(t, http.DefaultClient, address+"/style.css", ""); code != http.StatusOK || !strings.Contains(body, "header") {
		t.Errorf("got %d %s, want the style sheet", code, body)
	}
}

func TestThePageHasAHundredPortsAndLeadsToTheNext(t *testing.T) {
	var namespaces []string
	for _, first := range "abcdefghijk" {
		for _, second := range "abcdefghijk" {
			namespaces = append(namespaces, "n"+string(first)+string(second))
		}
	}
	address := loopback(t, newCluster(t, namespaces...), current)
	_, body := get(t, http.DefaultClient, address+"/", "")
	if got := strings.Count(body, "<th scope=\"row\">"); got != 100 || !strings.Contains(body, `href="?page=2"`) {
		t.Errorf("got %d ports on the first page, want 100 and a link to the next", got)
	}
	_, body = get(t, http.DefaultClient, address+"/?page=2", "")
	if got := strings.Count(body, "<th scope=\"row\">"); got != 21 || !strings.Contains(body, `href="?page=1"`) || strings.Contains(body, "page=3") {
		t.Errorf("got %d ports on the second page, want 21 and a link back", got)
	}
	for _, behind := range []string{"9", "9223372036854775807"} {
		if code, _ := get(t, http.DefaultClient, address+"/?page="+behind, ""); code != http.StatusOK {
			t.Errorf("got %d for page %s behind the last, want an empty one", code, behind)
		}
	}
}

func TestContract44ThePageSaysSinceWhenItIsNotCurrent(t *testing.T) {
	address := loopback(t, newCluster(t, "shop"), func(time.Time) (time.Time, error) {
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), errors.New("connection refused")
	})
	if _, body := get(t, http.DefaultClient, address+"/", ""); !strings.Contains(body, "no event since 2026-01-02 03:04:05 UTC: connection refused.") || !strings.Contains(body, "shop/web") {
		t.Errorf("got %s, want since when, why, and the last state", body)
	}
}

func TestContract43ThePageShowsAClientItsNamespacesAndNothingElse(t *testing.T) {
	s := secure(t, newCluster(t, "shop", "blog"))
	client := s.client(t, nil)
	code, body := get(t, client, s.url+"/", token)
	if code != http.StatusOK || !strings.Contains(body, "shop/web") || strings.Contains(body, "blog") {
		t.Errorf("got %d %s, want shop alone", code, body)
	}
	if code, _ := get(t, client, s.url+"/?namespace=blog", token); code != http.StatusForbidden {
		t.Errorf("got %d for another namespace, want 403", code)
	}
	if code, _ := get(t, client, s.url+"/", ""); code != http.StatusUnauthorized {
		t.Errorf("got %d without a token, want 401", code)
	}
}

func TestMistakesInTheQueryOfThePageAreNamed(t *testing.T) {
	address := loopback(t, newCluster(t, "shop"), current)
	for query, want := range map[string]string{
		"page=0": "write a number from 1 on", "page=x": "write a number from 1 on",
		"namespace=A_b": "is no name of a namespace", "state=down": "there are namespace, service, page",
	} {
		if code, body := get(t, http.DefaultClient, address+"/?"+query, ""); code != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want 400 and %q", query, code, body, want)
		}
	}
}
