package ionos

import "strings"

// owner is what the link of a network card says about whose it is.
type owner int

const (
	// ownerUnknown is a link that does not say.
	ownerUnknown owner = iota
	// ownerServer is a server, whose id the link names.
	ownerServer
	// ownerOther is something else, such as a load balancer, and no node.
	ownerOther
)

// ownerOf reads the link of a network card:
//
//	.../datacenters/<id>/servers/<server>/nics/<nic>    the server
//	.../datacenters/<id>/lans/<lan>/nics/<nic>          not said
//	.../datacenters/<id>/<anything else>/<id>/...       something else
func ownerOf(href string) (owner, string) {
	path, _, _ := strings.Cut(href, "?")
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if segment == "servers" && i+1 < len(segments) && isUUID(segments[i+1]) {
			return ownerServer, strings.ToLower(segments[i+1])
		}
	}
	for i, segment := range segments {
		if segment != "datacenters" || i+3 >= len(segments) {
			continue
		}
		if kind := segments[i+2]; kind != "lans" && kind != "servers" && kind != "nics" {
			return ownerOther, ""
		}
	}
	return ownerUnknown, ""
}

// isUUID reports whether text is a UUID, as the ids of servers are. The id of a
// node of another provider need not be one.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return false
			}
		}
	}
	return true
}
