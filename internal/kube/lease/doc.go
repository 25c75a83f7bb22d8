// Package lease lets one of several processes work: the one that holds a
// Lease. In: the way to the API server, the Lease's name and what to do. Out:
// whether this process leads, until when it may write, which process holds the Lease, and
// where that process answers the others.
//
//	        observe (list, watch)           renew every 2 s
//	absent ──────────────┐              ┌────────────────────┐
//	released ────────────┼─> take ──────┴─> leading ──do ends──> release
//	not renewed for 15 s ┘  (update with       │
//	                         resourceVersion)  └─10 s without a renewal, or
//	                                             another holder──> lost
//
// It speaks the protocol of client-go's leaderelection, so that both may stand
// for one Lease. What it adds: a standby watches the Lease, so it takes over at
// once when it is released; time without a renewal is measured from the moment
// the last one was seen, on a clock that cannot be set and that goes on while
// the machine is suspended; and a Fence, which lets no write through unless the
// Lease is surely held at that moment.
//
// Replicas talk by Leases too. The holder leaves a note for the standbys in an annotation,
// each standby replies by a line in a second Lease, and the holder may hand the Lease over to
// one of them. Other versions ignore the annotations, and may keep them: a note counts only
// with the identity of the holder, a successor only in the Lease that was released for it. At
// rest none of this makes a request.
//
// The rights it needs, in the Lease's namespace:
//
//	apiGroups: ["coordination.k8s.io"]  resources: ["leases"]
//	verbs: ["list", "watch", "create", "update"]
//
// All but "create" may be limited to the two Leases by resourceNames. It never
// deletes the Lease, never logs, and asks for nothing else.
package lease
