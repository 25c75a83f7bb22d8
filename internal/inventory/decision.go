package inventory

import (
	"cmp"
	"net/netip"
)

// Stage is the part of the program that made a decision.
type Stage string

// The stages, in the order in which a node passes them.
const (
	StageSource Stage = "source"
	StageFilter Stage = "filter"
	StageProbe  Stage = "probe"
	StageGuard  Stage = "guard"
)

// order is the stage's place in a trail.
func (s Stage) order() int {
	switch s {
	case StageSource:
		return 0
	case StageFilter:
		return 1
	case StageProbe:
		return 2
	case StageGuard:
		return 3
	}
	return 4
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
)

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
		{ReadyFailOpen, "published ready although it fails its health check, because nothing at all would be ready otherwise", "find out why every backend fails: the workload, its port, or the way from this daemon to it"},
		{ReadyHeld, "published ready although a suspect read misses it, or its silence is shared by most others", "check the source, or the network of this daemon"},
		{ReadyFailing, "published ready, failing fewer than HEALTH_CHECK_FALL times in a row", "wait, or look at the backend if it comes back often"},
		{Draining, "leaving and still passing; used only when nothing is ready, removed after DRAIN_PERIOD", "nothing to do"},
		{ProbePending, "a new candidate, or one whose address moved, that no health check has passed yet", "wait for the next probe"},
		{ProbeRefused, "the health check was answered with a refusal or a reset", "start the workload on the backend port, or open the firewall"},
		{ProbeTimeout, "the health check was not answered within HEALTH_CHECK_TIMEOUT", "check the node, its firewall and the private network"},
		{ProbeUnreachable, "the network says that the address cannot be reached", "check the routes to the private network"},
		{ProbeStatus, "the HTTP status is not among HEALTH_CHECK_EXPECTED_STATUS", "check HEALTH_CHECK_PATH, or the workload"},
		{ProbeTLS, "the TLS handshake or the certificate was refused", "check the certificate and HEALTH_CHECK_TLS_CA_FILE, HEALTH_CHECK_TLS_SERVER_NAME"},
		{NodeNotReady, "its own cluster reports the node as not ready", "repair the node; it is counted as missing until then"},
		{NotWorker, "the node does not run workloads or is not selected", "check SECURED_NODE_SELECTOR, or the worker field of the inventory"},
		{NoPrivateAddress, "the source knows no address of the node", "give the node an address in the private network"},
		{InvalidAddress, "the address is IPv4-mapped IPv6 or has a zone", "report the plain address"},
		{ForbiddenAddress, "the address is of a range that is never published: loopback, link-local, multicast, documentation, metadata and the like", "report the node's private address instead"},
		{OutsideSubnet, "the address is outside SECURED_SUBNET_CIDR", "correct the address, or extend SECURED_SUBNET_CIDR"},
		{DuplicateAddress, "another node of the same read has the address, and stays", "correct the inventory: an address belongs to one node"},
		{Excluded, "the node asks to be left out of load balancers", "remove the label node.kubernetes.io/exclude-from-external-load-balancers"},
		{Gone, "no longer in the inventory; removed", "nothing to do"},
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
	// Message names the rule and the actual value that decided.
	Message string
}

// CompareDecisions orders decisions by node, address, stage and reason.
func CompareDecisions(a, b Decision) int {
	return cmp.Or(
		cmp.Compare(a.Node.Name, b.Node.Name),
		cmp.Compare(a.Node.ID, b.Node.ID),
		a.Address.Compare(b.Address),
		cmp.Compare(a.Stage.order(), b.Stage.order()),
		cmp.Compare(a.Reason, b.Reason),
	)
}
