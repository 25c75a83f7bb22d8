package apiproxy

import (
	"net/http"
	"strings"
	"time"
)

// Request is one request as the proxy saw it.
type Request struct {
	// Verb is get, list, watch, create, update, patch or delete, as in RBAC. Verb and
	// Resource are empty for a path that is not a resource.
	Verb, Resource string
	// At is when it arrived.
	At time.Time
}

// Match says which requests are meant. An empty field matches any.
type Match struct {
	// Verb is one of those of [Request], Resource the plural, such as leases.
	Verb, Resource string
}

// Writes matches what changes slices.
func Writes() []Match {
	return []Match{{"create", "endpointslices"}, {"update", "endpointslices"}}
}

func (m Match) matches(r Request) bool {
	return (m.Verb == "" || m.Verb == r.Verb) && (m.Resource == "" || m.Resource == r.Resource)
}

// read says what a request is for.
func read(r *http.Request) Request {
	request := Request{At: time.Now()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return request
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	request.Resource = parts[0]
	named := len(parts) > 1
	switch r.Method {
	case http.MethodGet:
		request.Verb = "list"
		if named {
			request.Verb = "get"
		}
		if watch := r.URL.Query().Get("watch"); watch == "1" || watch == "true" {
			request.Verb = "watch"
		}
	default:
		request.Verb = map[string]string{
			http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
		}[r.Method]
	}
	return request
}
