package ionostest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const prefix = "/cloudapi/v6"

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
	mux.HandleFunc("GET "+prefix+"/datacenters/{dc}/lans/{lan}", a.lanOnly(fault, func(w http.ResponseWriter, _ *http.Request, view answer) {
		write(w, view.lan())
	}))
	mux.HandleFunc("GET "+prefix+"/datacenters/{dc}/lans/{lan}/nics", a.lanOnly(fault, func(w http.ResponseWriter, r *http.Request, view answer) {
		var items []object
		for _, server := range view.servers {
			for _, nic := range server.NICs {
				if nic.LAN == view.options.LAN {
					items = append(items, view.nic(server, nic, number(r, "depth")))
				}
			}
		}
		view.page(w, r, items)
	}))
	mux.HandleFunc("GET "+prefix+"/datacenters/{dc}/servers", a.datacenterOnly(fault, func(w http.ResponseWriter, r *http.Request, view answer) {
		items := make([]object, 0, len(view.servers))
		for _, server := range view.servers {
			items = append(items, view.server(server, number(r, "depth")))
		}
		view.page(w, r, items)
	}))
	mux.HandleFunc("GET "+prefix+"/k8s/{cluster}/nodepools", a.clusterOnly(fault, func(w http.ResponseWriter, r *http.Request, view answer) {
		write(w, list(r, view.nodePools()))
	}))
	mux.HandleFunc("GET "+prefix+"/k8s/{cluster}/nodepools/{pool}/nodes", a.clusterOnly(fault, func(w http.ResponseWriter, r *http.Request, view answer) {
		write(w, list(r, view.members(r.PathValue("pool"))))
	}))
	a.replaceable(mux, fault)
	return mux
}

type view func(w http.ResponseWriter, r *http.Request, view answer)

func (a *API) datacenterOnly(fault Fault, next view) http.HandlerFunc {
	return a.only(fault, func(r *http.Request) bool { return r.PathValue("dc") == a.options.Datacenter }, next)
}

func (a *API) lanOnly(fault Fault, next view) http.HandlerFunc {
	return a.only(fault, func(r *http.Request) bool {
		return r.PathValue("dc") == a.options.Datacenter && r.PathValue("lan") == strconv.Itoa(a.options.LAN)
	}, next)
}

func (a *API) clusterOnly(fault Fault, next view) http.HandlerFunc {
	return a.only(fault, func(r *http.Request) bool { return r.PathValue("cluster") == a.options.Cluster }, next)
}

// only answers 404 for what does not exist.
func (a *API) only(fault Fault, exists func(*http.Request) bool, next view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !exists(r) {
			fail(w, http.StatusNotFound, "Resource does not exist")
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		next(w, r, answer{a, fault, origin(r) + prefix})
	}
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
