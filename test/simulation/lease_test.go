//go:build simulation

package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// leases is an API server with one Lease. The world's lock guards it.
type leases struct {
	lease    *coordinationv1.Lease
	revision int
	watches  []chan []byte
}

// The kinds of fault of a replica's way to the Lease.
const (
	leaseRefused = "requests for the Lease are refused"
	leaseHangs   = "requests for the Lease hang"
)

// RoundTrip carries a replica's request for the Lease out.
func (r *replica) RoundTrip(request *http.Request) (*http.Response, error) {
	w, ctx := r.w, request.Context()
	w.mu.Lock()
	takes := odd(r.chance)
	w.mu.Unlock()
	if err := sleep(ctx, takes); err != nil {
		return nil, err
	}
	w.mu.Lock()
	refused, hangs := r.dead || r.way.in(leaseRefused), r.way.in(leaseHangs)
	w.mu.Unlock()
	switch {
	case refused:
		return nil, errAway
	case hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	sent, err := decoded(request.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case request.Method != http.MethodGet:
		return w.leases.write(request.Method, sent), nil
	case request.URL.Query().Get("watch") != "":
		return w.watch(ctx), nil
	}
	return w.leases.list(), nil
}

// holder returns the holder of the Lease.
func (l *leases) holder() string {
	if l.lease == nil || l.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.lease.Spec.HolderIdentity
}

func (l *leases) list() *http.Response {
	list := &coordinationv1.LeaseList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(l.revision)}}
	list.Kind, list.APIVersion = "LeaseList", "coordination.k8s.io/v1"
	if l.lease != nil {
		list.Items = []coordinationv1.Lease{*l.lease}
	}
	return answer(http.StatusOK, list)
}

func (l *leases) write(method string, lease *coordinationv1.Lease) *http.Response {
	switch {
	case method == http.MethodPost && l.lease != nil:
		return failure(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case method == http.MethodPut && l.lease == nil:
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound)
	case method == http.MethodPut && lease.ResourceVersion != l.lease.ResourceVersion:
		return failure(http.StatusConflict, metav1.StatusReasonConflict)
	}
	l.store(lease)
	return answer(http.StatusOK, l.lease)
}

// store sets the Lease (nil for none) and informs the watches.
func (l *leases) store(lease *coordinationv1.Lease) {
	kind, told := "MODIFIED", lease
	if lease == nil {
		kind, told = "DELETED", l.lease
	}
	l.revision++
	told = told.DeepCopy()
	told.Kind, told.APIVersion = "Lease", "coordination.k8s.io/v1"
	told.ResourceVersion = strconv.Itoa(l.revision)
	l.lease = told
	if lease == nil {
		l.lease = nil
	}
	event, _ := json.Marshal(map[string]any{"type": kind, "object": told})
	for _, w := range l.watches {
		w <- event
	}
}

// watch opens a watch from now on, which ends with the context of its request.
func (w *world) watch(ctx context.Context) *http.Response {
	reader, writer := io.Pipe()
	events := make(chan []byte, 1000)
	w.leases.watches = append(w.leases.watches, events)
	go func() {
		defer writer.Close()
		for {
			select {
			case <-ctx.Done():
				w.mu.Lock()
				defer w.mu.Unlock()
				w.leases.watches = slices.DeleteFunc(w.leases.watches, func(c chan []byte) bool { return c == events })
				return
			case event := <-events:
				if _, err := writer.Write(event); err != nil {
					return
				}
			}
		}
	}()
	context.AfterFunc(ctx, func() { _ = reader.CloseWithError(ctx.Err()) })
	response := answer(http.StatusOK, nil)
	response.Body = reader
	return response
}

// decoded reads the Lease that a replica sent, if it sent one.
func decoded(body io.Reader) (*coordinationv1.Lease, error) {
	if body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	scheme, lease := runtime.NewScheme(), &coordinationv1.Lease{}
	scheme.AddKnownTypes(coordinationv1.SchemeGroupVersion, lease)
	_, _, err = serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(data, nil, lease)
	return lease, err
}

func answer(code int, body any) *http.Response {
	data, _ := json.Marshal(body)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)),
	}
}

func failure(code int, reason metav1.StatusReason) *http.Response {
	return answer(code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(code),
	})
}
