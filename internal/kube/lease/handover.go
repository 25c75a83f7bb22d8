package lease

import (
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrHandedOver says that this process gave the Lease to another one.
var ErrHandedOver = errors.New("the lease is handed over")

// successorAnnotation is the identity that a released Lease is for. It counts only in the
// Lease that was released at handedOverAnnotation, the time of the last hand-over.
const (
	successorAnnotation  = "endpoints.ablmnzde.github.io/successor"
	handedOverAnnotation = "endpoints.ablmnzde.github.io/handed-over-at"
)

// HandOver ends the work of this process, if it leads, with the cause ErrHandedOver, and then
// releases the Lease for the successor. Another process takes it only RetryPeriod later.
func (e *Elector) HandOver(successor string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stop == nil || e.successor != "" || successor == "" || successor == e.opts.Identity {
		return
	}
	e.successor = successor
	e.stop(e.handedOver(successor))
}

// handedOver says to which process.
func (e *Elector) handedOver(successor string) error {
	return fmt.Errorf("lease %s/%s: %w to %s", e.opts.Namespace, e.opts.Name, ErrHandedOver, successor)
}

func setHandedOver(lease *coordinationv1.Lease, at time.Time) {
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, handedOverAnnotation, at.UTC().Format(metav1.RFC3339Micro))
}

// handedOverAt is when the Lease was handed over last, zero for never.
func handedOverAt(lease *coordinationv1.Lease) time.Time {
	at, _ := time.Parse(time.RFC3339, lease.Annotations[handedOverAnnotation]) // what is none is as good as missing
	return at.UTC()
}
