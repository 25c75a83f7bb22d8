package lease

import (
	"net/netip"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// addressAnnotation says where the holder answers the other replicas, as ADDRESS:PORT.
const addressAnnotation = "endpoints.ablmnzde.github.io/leader-address"

// protocolAnnotation says in which version it does. It comes and goes with the address.
const protocolAnnotation = "endpoints.ablmnzde.github.io/replica-protocol"

// nodeAnnotation says on which node the holder runs, as a note does: with its identity.
const nodeAnnotation = "endpoints.ablmnzde.github.io/leader-node"

// Protocol is the version of what replicas ask and answer: paths, headers and the form of
// the documents. A replica asks only one that speaks the same.
const Protocol = "1"

// record is what a Lease says. Its times are those of the holder's wall clock:
// they are compared for equality and never with ours.
type record struct {
	holder      string
	duration    time.Duration
	transitions int32
	// acquired and renewed are in microseconds since 1970.
	acquired, renewed int64
	// address is where the holder answers the other replicas; not valid where the
	// Lease does not say it.
	address netip.AddrPort
	// protocol is in which version; empty where the Lease does not say it.
	protocol string
	// note is what the holder tells the standbys.
	note string
	// successor is for whom the Lease was released, empty for everybody.
	successor string
	// handedOver is when that was last, zero for never.
	handedOver time.Time
}

func recordOf(lease *coordinationv1.Lease) record {
	address, _ := netip.ParseAddrPort(lease.Annotations[addressAnnotation]) // what is none is as good as missing
	r := record{
		holder:      ptr.Deref(lease.Spec.HolderIdentity, ""),
		duration:    time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second,
		transitions: ptr.Deref(lease.Spec.LeaseTransitions, 0),
		acquired:    ptr.Deref(lease.Spec.AcquireTime, metav1.MicroTime{}).UnixMicro(),
		renewed:     ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).UnixMicro(),
		address:     address,
		protocol:    lease.Annotations[protocolAnnotation],
		handedOver:  handedOverAt(lease),
	}
	r.note = annotated(lease, noteAnnotation, r.holder)
	if r.holder == "" && r.handedOver.UnixMicro() == r.renewed {
		r.successor = lease.Annotations[successorAnnotation]
	}
	return r
}

// observation is what a standby knows of the Lease.
type observation struct {
	record record
	// since runs since the record was last seen to change.
	since stopwatch
}

// see takes in the Lease as it is, or was when it was deleted. A deletion changes
// nothing: the holder may write as long as before, and creates it again.
func (o *observation) see(lease *coordinationv1.Lease) {
	if lease == nil {
		return
	}
	if r := recordOf(lease); !o.since.running() || r != o.record {
		o.record, o.since = r, begin()
	}
}

// expiresIn returns for how long a process of that identity must not take the
// Lease; 0 if its own request wrote the record.
func (o *observation) expiresIn(identity string) time.Duration {
	duration := o.record.duration
	switch r := o.record; {
	case r.holder == "" && r.successor != "" && r.successor != identity:
		duration = RetryPeriod
	case r.holder == "" || r.holder == identity:
		return 0
	case duration <= 0:
		duration = LeaseDuration
	}
	return max(0, duration-o.since.elapsed())
}

// taken returns the Lease with a new holder, which answers at the address, and its note. Like
// client-go, it counts a transition unless the holder stays or there was no Lease.
func taken(lease *coordinationv1.Lease, opts Options, address netip.AddrPort, note string) *coordinationv1.Lease {
	now := metav1.NowMicro()
	acquired, transitions := now, int32(0)
	if lease == nil {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.Name}}
	} else if before := recordOf(lease); before.holder == opts.Identity && lease.Spec.AcquireTime != nil {
		acquired, transitions = *lease.Spec.AcquireTime, before.transitions
	} else {
		transitions = before.transitions + 1
	}
	lease = written(lease, opts.Identity, LeaseDuration, acquired, transitions)
	annotate(lease, noteAnnotation, opts.Identity, note)
	annotate(lease, nodeAnnotation, opts.Identity, opts.Node)
	if address.IsValid() {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, addressAnnotation, address.String())
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, protocolAnnotation, Protocol)
	}
	return lease
}

// released returns the Lease without a holder, for a successor if there is one.
func released(lease *coordinationv1.Lease, successor string) *coordinationv1.Lease {
	lease = written(lease, "", time.Second, metav1.NowMicro(), recordOf(lease).transitions)
	if successor != "" {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, successorAnnotation, successor)
		setHandedOver(lease, lease.Spec.RenewTime.Time)
	}
	return lease
}

// written returns a copy of the Lease that says so, renewed now, and nothing else but when it
// was last handed over.
func written(lease *coordinationv1.Lease, holder string, duration time.Duration, acquired metav1.MicroTime, transitions int32) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	for _, annotation := range []string{addressAnnotation, protocolAnnotation, nodeAnnotation, noteAnnotation, successorAnnotation} {
		delete(lease.Annotations, annotation)
	}
	if now := time.Now(); handedOverAt(lease).After(now) {
		setHandedOver(lease, now)
	}
	seconds, now := int32(duration/time.Second), metav1.NowMicro()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &holder, &seconds
	lease.Spec.AcquireTime, lease.Spec.RenewTime, lease.Spec.LeaseTransitions = &acquired, &now, &transitions
	return lease
}

// stopwatch measures how long ago something was, without the wall clock, which can
// be set. Go's clock stops while the machine is suspended, but the Lease expires
// meanwhile; so the longer time of Go's clock and of that since boot counts.
type stopwatch struct {
	at   time.Time
	boot time.Duration
}

// begin starts one.
func begin() stopwatch { return stopwatch{at: time.Now(), boot: sinceBoot()} }

// running reports whether it was ever started.
func (s stopwatch) running() bool { return !s.at.IsZero() }

func (s stopwatch) elapsed() time.Duration { return max(time.Since(s.at), sinceBoot()-s.boot) }
