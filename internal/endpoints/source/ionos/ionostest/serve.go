package ionostest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
)

const prefix = "/cloudapi/v6"

// NewTLSServer serves a handler as the real API is served: by HTTP/2 over TLS.
// Its certificate is for 127.0.0.1; Client of the server trusts it.
func NewTLSServer(handler http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	return server
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counted := &counter{ResponseWriter: w}
	a.mu.Lock()
	a.counts.Requests++
	a.counts.ByPath[strings.TrimPrefix(r.URL.Path, prefix)]++
	allowed := len(a.accepted) == 0 || slices.Contains(a.accepted, r.Header.Get("Authorization"))
	if !allowed {
		a.counts.Refused++
	}
	limits := a.limits
	fault := a.fault.take(r)
	if a.fault.Times < 0 {
		a.fault = Fault{}
	}
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.counts.Bytes += counted.bytes
	}()
	if limits[0] > 0 {
		for i, name := range []string{"Limit", "Burst", "Remaining"} {
			w.Header().Set("X-RateLimit-"+name, strconv.Itoa(limits[i]))
		}
	}
	switch {
	case !allowed:
		fail(counted, http.StatusUnauthorized, "Unauthorized, wrong credentials: "+r.Header.Get("Authorization"))
	case fault.spoils():
		fault.spoil(counted, r, a.handler(Fault{}))
	default:
		a.handler(fault).ServeHTTP(counted, r)
	}
}

// handler are the calls, with what a fault does to the documents.
func (a *API) handler(fault Fault) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	handle := func(pattern string, call func(w http.ResponseWriter, r *http.Request, view answer)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			a.mu.Lock()
			defer a.mu.Unlock()
			call(w, r, answer{a, fault, origin(r) + prefix})
		})
	}
	datacenter := prefix + "/datacenters/" + cmp.Or(a.options.Datacenter, "none")
	lan, pools := fmt.Sprint(datacenter, "/lans/", a.options.LAN), prefix+"/k8s/"+cmp.Or(a.options.Cluster, "none")+"/nodepools"
	handle("GET "+lan, func(w http.ResponseWriter, _ *http.Request, view answer) { write(w, view.lan()) })
	handle("GET "+lan+"/nics", func(w http.ResponseWriter, r *http.Request, view answer) {
		var items []object
		for _, server := range view.servers {
			for _, nic := range server.NICs {
				if nic.LAN == view.options.LAN {
					items = append(items, view.nic(server, nic, number(r, "depth")))
				}
			}
		}
		view.page(w, r, items)
	})
	handle("GET "+datacenter+"/servers", func(w http.ResponseWriter, r *http.Request, view answer) {
		items := make([]object, 0, len(view.servers))
		for _, server := range view.servers {
			items = append(items, view.server(server, number(r, "depth")))
		}
		view.page(w, r, items)
	})
	handle("GET "+pools, func(w http.ResponseWriter, r *http.Request, view answer) { write(w, list(r, view.nodePools())) })
	handle("GET "+pools+"/{pool}/nodes", func(w http.ResponseWriter, r *http.Request, view answer) {
		write(w, list(r, view.members(r.PathValue("pool"))))
	})
	// Both have the same end, at once; see replace.
	handle("DELETE "+pools+"/{pool}/nodes/{node}", a.replace)
	handle("POST "+pools+"/{pool}/nodes/{node}/replace", a.replace)
	return mux
}

// replace removes a node and its server, and adds another one to the same pool.
func (a *API) replace(w http.ResponseWriter, r *http.Request, _ answer) {
	pool, id := r.PathValue("pool"), r.PathValue("node")
	at := slices.IndexFunc(a.nodes, func(n Node) bool { return n.ID == id && n.pool() == pool })
	if at < 0 {
		notFound(w)
		return
	}
	a.nodes = slices.Delete(slices.Clone(a.nodes), at, at+1)
	a.servers = slices.DeleteFunc(slices.Clone(a.servers), func(s Server) bool { return s.ID == id })
	a.add()
	a.nodes[len(a.nodes)-1].Pool = pool
	w.WriteHeader(http.StatusAccepted)
}

// page writes the part of a list that the request asks for.
func (w answer) page(out http.ResponseWriter, r *http.Request, items []object) {
	offset, limit := number(r, "offset"), number(r, "limit")
	if limit <= 0 {
		limit = 1000
	}
	if w.fault.Kind == Endless {
		offset = 0
	}
	from := min(offset, len(items))
	to := min(from+limit, len(items))
	document := list(r, items[from:to])
	document["offset"], document["limit"] = offset, limit
	links := object{}
	if to < len(items) || w.fault.Kind == Endless {
		links["next"] = fmt.Sprintf("%s%s?offset=%d&limit=%d", origin(r), r.URL.Path, to, limit)
	}
	if w.fault.Kind != NoLinks {
		document["_links"] = links
	}
	write(out, document)
}

// list is a collection. Depth 0 of a collection names no items.
func list(r *http.Request, items []object) object {
	o := base(strings.TrimPrefix(r.URL.Path, prefix+"/"), "collection", origin(r)+r.URL.Path)
	if items == nil {
		items = []object{}
	}
	o["items"] = items
	return o
}

// origin is the scheme and host of a request.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func number(r *http.Request, name string) int {
	value, _ := strconv.Atoi(r.URL.Query().Get(name)) // 0 where there is none
	return value
}

func write(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document) // the client is gone
}

func notFound(w http.ResponseWriter) { fail(w, http.StatusNotFound, "Resource does not exist") }

// fail answers with the API's document of an error.
func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"httpStatus": status, "messages": []any{object{"errorCode": "315", "message": message}}})
}

// counter counts the bytes of an answer.
type counter struct {
	http.ResponseWriter
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
