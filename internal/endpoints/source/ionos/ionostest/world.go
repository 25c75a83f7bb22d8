// Package ionostest is a fake of the IONOS Cloud API, as far as the source ionos
// asks it, that misbehaves on command. In come servers, nodes and faults; out
// goes an http.Handler that answers as the real API does, with its depth, its
// pages and its check of credentials, and counts what it was asked.
//
// It is for tests and for trying the program on one machine. It keeps nothing
// but what it was given and changes nothing by itself.
package ionostest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Server is a server of the data centre.
type Server struct {
	ID, Name string
	NICs     []NIC
}

// NIC is a network card. IPs and IPv6s may hold "" and, as "null", null.
type NIC struct {
	ID          string
	LAN         int
	IPs, IPv6s  []string
	ForeignHref string
}

// Node is a node of the managed cluster.
type Node struct {
	ID, Name string
	// State is READY where it is empty.
	State string
	// Pool is the node pool, "pool-1" where it is empty.
	Pool string
}

// Pool is what a node pool says besides its nodes.
type Pool struct {
	Name   string
	Labels map[string]string
	// Zone is AUTO where it is empty.
	Zone string
}

// Options are the ids that the API knows.
type Options struct {
	Datacenter, Cluster string
	LAN                 int
}

// Counts are what the API was asked, and what it answered.
type Counts struct {
	Requests int            `json:"requests"`
	Bytes    int64          `json:"bytes"`
	ByPath   map[string]int `json:"byPath"`
	// Refused are requests with wrong or no credentials.
	Refused int `json:"refused"`
}

// API is the fake. It may be used by many goroutines.
type API struct {
	options Options

	mu       sync.Mutex
	servers  []Server
	nodes    []Node
	pools    []Pool
	failover []string
	public   bool
	accepted []string // values of Authorization; empty accepts all
	fault    Fault
	limits   [3]int
	counts   Counts
	next     int
}

// New makes an API with an empty data centre.
func New(options Options) *API {
	return &API{options: options, limits: [3]int{6000, 600, 5999}, counts: Counts{ByPath: map[string]int{}}}
}

// change changes the world.
func (a *API) change(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// SetServers replaces all servers.
func (a *API) SetServers(servers ...Server) { a.change(func() { a.servers = slices.Clone(servers) }) }

// SetNodes replaces all nodes of the managed cluster.
func (a *API) SetNodes(nodes ...Node) { a.change(func() { a.nodes = slices.Clone(nodes) }) }

// SetPools replaces what the node pools say; which there are follows from the
// nodes.
func (a *API) SetPools(pools ...Pool) { a.change(func() { a.pools = slices.Clone(pools) }) }

// SetFailover replaces the addresses of the LAN's failover group.
func (a *API) SetFailover(addrs ...string) { a.change(func() { a.failover = slices.Clone(addrs) }) }

// SetPublic says whether the LAN is public.
func (a *API) SetPublic(public bool) { a.change(func() { a.public = public }) }

// SetRateLimit sets what the headers about the rate limit say; without a limit
// there are none.
func (a *API) SetRateLimit(limit, burst, remaining int) {
	a.change(func() { a.limits = [3]int{limit, burst, remaining} })
}

// Accept makes these the only values of Authorization that are accepted.
func (a *API) Accept(headers ...string) { a.change(func() { a.accepted = slices.Clone(headers) }) }

// Break makes the API misbehave until Heal, or as often as the fault says.
func (a *API) Break(fault Fault) { a.change(func() { a.fault = fault }) }

// Heal ends the fault.
func (a *API) Heal() { a.Break(Fault{}) }

// Counts returns what was counted since the last call of Forget.
func (a *API) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := a.counts
	counts.ByPath = maps.Clone(counts.ByPath)
	return counts
}

// Forget sets the counts to nothing.
func (a *API) Forget() { a.change(func() { a.counts = Counts{ByPath: map[string]int{}} }) }

// Populate makes a world of that many servers, each the node of a managed
// cluster, with an address in 10.0.0.0/8 on the LAN.
func (a *API) Populate(count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.servers, a.nodes, a.next = nil, nil, 0
	for range count {
		a.add()
	}
}

// Churn replaces that many of the oldest servers, and their nodes, by new ones.
func (a *API) Churn(count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range min(count, len(a.servers)) {
		gone := a.servers[0].ID
		a.servers = a.servers[1:]
		a.nodes = slices.DeleteFunc(a.nodes, func(n Node) bool { return n.ID == gone })
		a.add()
	}
}

// add adds a new server. The caller holds mu.
func (a *API) add() {
	n := a.next
	a.next++
	id := fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", n)
	name := fmt.Sprintf("worker-%d", n)
	a.servers = append(a.servers, Server{ID: id, Name: name, NICs: []NIC{{
		ID: fmt.Sprintf("0c0c0c0c-0000-4000-8000-%012d", n), LAN: a.options.LAN,
		IPs: []string{fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)},
	}}})
	a.nodes = append(a.nodes, Node{ID: id, Name: name})
}
