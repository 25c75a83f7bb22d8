package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// findLeft looks once for slices in namespaces that no document names any more, and has
// those namespaces watched: their endpoints are checked until they are released. The
// documents may have changed while no process ran. Without the right to list slices in
// the whole cluster nothing is known of such namespaces.
func (s *Server) findLeft(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		found, err := s.opts.Hub.Find(ctx)
		switch {
		case err == nil:
			for _, namespace := range found {
				s.opts.Hub.Watch(namespace)
			}
			s.searched.Store(true)
			s.signal()
			return
		case apierrors.IsForbidden(err):
			s.teller.unseen(err)
			s.searched.Store(true)
			s.signal()
			return
		}
		timer.Reset(retry)
	}
}
