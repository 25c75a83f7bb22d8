package election

import (
	"net/netip"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// addressAnnotation says where the holder answers the other replicas, as ADDRESS:PORT.
const addressAnnotation = "endpoints.ablmnzde.github.io/leader-address"

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
}

func recordOf(lease *coordinationv1.Lease) record {
	var r record
	spec := lease.Spec
	if spec.HolderIdentity != nil {
		r.holder = *spec.HolderIdentity
	}
	if spec.LeaseDurationSeconds != nil {
		r.duration = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	if spec.LeaseTransitions != nil {
		r.transitions = *spec.LeaseTransitions
	}
	if spec.AcquireTime != nil {
		r.acquired = spec.AcquireTime.UnixMicro()
	}
	if spec.RenewTime != nil {
		r.renewed = spec.RenewTime.UnixMicro()
	}
	r.address, _ = netip.ParseAddrPort(lease.Annotations[addressAnnotation]) // what is none is as good as missing
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
	if o.record.holder == "" || o.record.holder == identity {
		return 0
	}
	duration := o.record.duration
	if duration <= 0 {
		duration = LeaseDuration
	}
	return max(0, duration-o.since.elapsed())
}

// taken returns the Lease with a new holder, which answers at the address. Like
// client-go, it counts a transition unless the holder stays or there was no Lease.
func taken(lease *coordinationv1.Lease, opts Options, address netip.AddrPort) *coordinationv1.Lease {
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
	if address.IsValid() {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, addressAnnotation, address.String())
	}
	return lease
}

// released returns the Lease without a holder.
func released(lease *coordinationv1.Lease) *coordinationv1.Lease {
	return written(lease, "", time.Second, metav1.NowMicro(), recordOf(lease).transitions)
}

// written returns a copy of the Lease that says so, renewed now, and no address.
func written(lease *coordinationv1.Lease, holder string, duration time.Duration, acquired metav1.MicroTime, transitions int32) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	delete(lease.Annotations, addressAnnotation)
	seconds, now := int32(duration/time.Second), metav1.NowMicro()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &holder, &seconds
	lease.Spec.AcquireTime, lease.Spec.RenewTime, lease.Spec.LeaseTransitions = &acquired, &now, &transitions
	return lease
}
