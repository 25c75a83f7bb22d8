package inventory

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
)

// Stage is the part of the program that made a decision.
type Stage string

// The stages, in the order in which a node passes them.
const (
	StageSource Stage = "source"
	StageFilter Stage = "filter"
	StageHealth Stage = "health"
	StageGuard  Stage = "guard"
)

// order is the stage's place in a trail.
func (s Stage) order() int {
	return slices.Index([]Stage{StageSource, StageFilter, StageHealth, StageGuard}, s)
}

// Reason is why a node or an address is where it is. The list is closed and the
// same on every surface: page, JSON, commands, logs, metrics, Events, docs.
type Reason string

// The reasons. A decision that lets a node pass on to the next stage has none.
const (
	Ready            Reason = "Ready"
	ReadyFailOpen    Reason = "ReadyFailOpen"
	ReadyHeld        Reason = "ReadyHeld"
	ReadyFailing     Reason = "ReadyFailing"
	ReadyDraining    Reason = "ReadyDraining"
	ReadyElsewhere   Reason = "ReadyElsewhere"
	Draining         Reason = "Draining"
	ProbePending     Reason = "ProbePending"
	ProbeRefused     Reason = "ProbeRefused"
	ProbeTimeout     Reason = "ProbeTimeout"
	ProbeUnreachable Reason = "ProbeUnreachable"
	ProbeStatus      Reason = "ProbeStatus"
	ProbeTLS         Reason = "ProbeTLS"
	NodeNotReady     Reason = "NodeNotReady"
	NotWorker        Reason = "NotWorker"
	NoPrivateAddress Reason = "NoPrivateAddress"
	InvalidAddress   Reason = "InvalidAddress"
	ForbiddenAddress Reason = "ForbiddenAddress"
	OutsideSubnet    Reason = "OutsideSubnet"
	DuplicateAddress Reason = "DuplicateAddress"
	Excluded         Reason = "Excluded"
	Gone             Reason = "Gone"

	NoPod             Reason = "NoPod"
	UnknownNode       Reason = "UnknownNode"
	PlacementRejected Reason = "PlacementRejected"
)

// Counted joins a number and its noun, for messages.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Doc is what the reference says of the reason; empty where it says nothing.
func (r Reason) Doc() ReasonDoc {
	for _, doc := range Reasons() {
		if doc.Reason == r {
			return doc
		}
	}
	return ReasonDoc{}
}

// ReasonDoc explains one reason for the reference and the help texts.
type ReasonDoc struct {
	Reason  Reason
	Meaning string
	Remedy  string
}

// Reasons lists every reason with its meaning and what to do about it.
func Reasons() []ReasonDoc {
	return []ReasonDoc{
		{Ready, "present and passing its health check; published ready", "nothing to do"},
		{ReadyFailOpen, "published ready although it fails, because no endpoint would be ready otherwise", "check the workload, its port and the network to this daemon"},
		{ReadyHeld, "stays ready although it is silent or a rejected inventory leaves it out", "check the source, or the network of this daemon"},
		{ReadyFailing, "ready although it fails: fewer than HEALTH_CHECK_FALL times in a row, or at the start", "wait; look at the workload if this repeats"},
		{ReadyDraining, "leaves, and stays ready until a new endpoint passes HEALTH_CHECK_RISE times in a row", "find out why the new endpoints do not pass"},
		{ReadyElsewhere, "published ready although this replica gets no connection: another replica connects to it", "check the network between this replica's node and the endpoint"},
		{Draining, "leaving and still passing; removed after DRAIN_PERIOD, once an endpoint of the inventory passes", "nothing to do"},
		{ProbePending, "no health check has counted yet: new endpoint, moved address, or error of this daemon", "wait; repair the error if the message names one"},
		{ProbeRefused, "the connection of the health check was refused, reset, or closed without an answer", "start the workload on its port, or open the firewall"},
		{ProbeTimeout, "the health check was not answered within HEALTH_CHECK_TIMEOUT", "check the node, its firewall and the private network"},
		{ProbeUnreachable, "the network says that the address cannot be reached", "check the routes to the private network"},
		{ProbeStatus, "the HTTP status is not among HEALTH_CHECK_EXPECTED_STATUS", "check HEALTH_CHECK_PATH, or the workload"},
		{ProbeTLS, "the TLS handshake failed, or the certificate is not trusted", "check the certificate and HEALTH_CHECK_TLS_CA_FILE, HEALTH_CHECK_TLS_SERVER_NAME"},
		{NodeNotReady, "its own cluster reports the node as not ready", "repair the node; until then it counts as left out of the inventory"},
		{NotWorker, "the node does not run workloads or is not selected", "check SECURED_NODE_SELECTOR, or the worker field of the inventory"},
		{NoPrivateAddress, "the source knows no address of the node", "give the node an address in the private network"},
		{InvalidAddress, "the address is IPv4-mapped IPv6 or has a zone", "report the plain address"},
		{ForbiddenAddress, "the address is in a range that is never published: loopback, link-local, multicast, documentation, metadata and the like", "report the node's private address instead"},
		{OutsideSubnet, "the address is outside SECURED_SUBNET_CIDR", "correct the address, or extend SECURED_SUBNET_CIDR"},
		{DuplicateAddress, "another node of the same inventory has the address and keeps it", "correct the inventory: an address belongs to one node"},
		{Excluded, "the node asks to be left out of load balancers", "remove the label node.kubernetes.io/exclude-from-external-load-balancers"},
		{Gone, "no longer in the inventory; removed", "nothing to do"},
		{NoPod, "no ready Pod of the remote Service is on the node; neither checked nor published", "nothing to do, or check the remote Service"},
		{UnknownNode, "has no ready Pod, and stays while it passes, because a Pod is on an unlisted node", "let the source list every node"},
		{PlacementRejected, "has no ready Pod, and stays while it passes: the remote Service lost too many nodes", "check its selector and its Pods"},
	}
}

// Decision is what became of one node or one of its addresses in one stage.
type Decision struct {
	Node Identity
	// Address is the zero Addr where the decision is about the whole node.
	Address netip.Addr
	Stage   Stage
	// Reason is empty where the stage let the node or address pass.
	Reason Reason
	// Message names the rule and the actual value that decided. That of the filter
	// goes on after the address; Text has both.
	Message string
	// Subnet is what let an address pass the filter, which says nothing else of
	// it; invalid otherwise.
	Subnet netip.Prefix
}

// Text is the message to show. It is made when needed: decisions are many, and few
// are shown.
func (d Decision) Text() string {
	switch {
	case d.Stage != StageFilter || !d.Address.IsValid():
		return d.Message
	case d.Reason == "":
		return d.Address.String() + " is inside " + d.Subnet.String() + " of SECURED_SUBNET_CIDR"
	}
	return d.Address.String() + " " + d.Message
}

// CompareDecisions orders decisions as they are shown: by node, address, stage
// and reason.
func CompareDecisions(a, b Decision) int {
	return cmp.Or(
		cmp.Compare(a.Node.Name, b.Node.Name),
		cmp.Compare(a.Node.ID, b.Node.ID),
		a.Address.Compare(b.Address),
		cmp.Compare(a.Stage.order(), b.Stage.order()),
		cmp.Compare(a.Reason, b.Reason),
	)
}

// CompareDecisionsByAddress orders decisions as the stages make them: by address,
// those about whole nodes first, then node, stage and reason.
func CompareDecisionsByAddress(a, b Decision) int {
	if order := a.Address.Compare(b.Address); order != 0 {
		return order
	}
	return cmp.Or(
		a.Node.Compare(b.Node),
		cmp.Compare(a.Stage.order(), b.Stage.order()),
		cmp.Compare(a.Reason, b.Reason),
	)
}
