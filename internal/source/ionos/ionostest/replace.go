package ionostest

import (
	"net/http"
	"slices"
)

// replaceable adds the calls that change the managed cluster. Both have the same
// end, at once: the node and its server are gone, and another one is there in the
// same pool.
func (a *API) replaceable(mux *http.ServeMux, fault Fault) {
	const node = prefix + "/k8s/{cluster}/nodepools/{pool}/nodes/{node}"
	order := a.clusterOnly(fault, func(w http.ResponseWriter, r *http.Request, _ answer) {
		if !a.replace(r.PathValue("pool"), r.PathValue("node")) {
			fail(w, http.StatusNotFound, "Resource does not exist")
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("DELETE "+node, order)
	mux.HandleFunc("POST "+node+"/replace", order)
}

// replace reports whether there was such a node. The caller holds mu.
func (a *API) replace(pool, id string) bool {
	at := slices.IndexFunc(a.nodes, func(n Node) bool { return n.ID == id && n.pool() == pool })
	if at < 0 {
		return false
	}
	a.nodes = slices.Delete(slices.Clone(a.nodes), at, at+1)
	a.servers = slices.DeleteFunc(slices.Clone(a.servers), func(s Server) bool { return s.ID == id })
	a.add()
	a.nodes[len(a.nodes)-1].Pool = pool
	return true
}
