package ionos

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Translate is all that happens between the raw answer of one call and nodes.
func Translate(payload []byte, byServer bool, lan int, nodes []inventory.Node) ([]inventory.Node, error) {
	translate := directoryOfLAN
	if byServer {
		translate = directoryOfServers
	}
	page, err := decodePage(payload)
	if err != nil {
		return nil, err
	}
	found, err := translate(*page.Items, lan)
	if err != nil {
		return nil, err
	}
	return resolve(nodes, found, map[netip.Addr]bool{netip.MustParseAddr("10.0.0.9"): true}, place{lan, "dc"}), nil
}

// HasMore says whether a page without links, of so many items and with that limit, has a
// further one where so many were asked for.
func HasMore(items int, limit float64, size int32) bool {
	documents := make([]document, items)
	return list{Items: &documents, Limit: limit}.more(size)
}

// RateLimitOf reads the headers of an answer.
func RateLimitOf(header http.Header) (RateLimit, bool) { return rateLimit(header, time.Time{}) }
