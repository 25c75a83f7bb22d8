package controlplane

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// userAgent marks the requests that the package makes itself; [ControlPlane.Audit]
// leaves them out.
const userAgent = "controlplane-test"

// AuditEvent is one request as the API server saw it.
type AuditEvent struct {
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	// User is the name that the request was authenticated as.
	User string
	// UserAgent is what the client calls itself.
	UserAgent string
	// Resource, Subresource, Namespace and Name say what the request was for;
	// they are empty for a path that is no resource, such as /version.
	Resource, Subresource, Namespace, Name string
	// Path is the requested path with its query.
	Path string
	// Code is the HTTP status, 0 when there was no answer (yet).
	Code int
	// Received is when the request arrived.
	Received time.Time
}

// Writes reports whether the request could have changed something.
func (e AuditEvent) Writes() bool {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	default:
		return false
	}
}

const (
	// auditTimeout is how long an answer may take that Audit waits for.
	auditTimeout  = 5 * time.Second
	auditInterval = 10 * time.Millisecond
)

// Audit returns every request since the control plane was started, in the
// order of their arrival, each once. A client can see an answer before the
// server has logged it, so Audit first waits until each request that arrived
// is answered (watches apart, and requests that get no answer within five
// seconds).
func (cp *ControlPlane) Audit() []AuditEvent {
	cp.t.Helper()
	if !cp.options.Audit {
		cp.t.Fatal("controlplane: Audit without Options.Audit")
	}
	for {
		data, err := os.ReadFile(filepath.Join(cp.dir, auditFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			cp.t.Fatalf("controlplane: read the audit log: %v", err)
		}
		events, pending, err := parseAudit(data, time.Now().Add(-auditTimeout))
		if err != nil {
			cp.t.Fatalf("controlplane: parse the audit log: %v", err)
		}
		if !pending || cp.server.ended() {
			return events
		}
		time.Sleep(auditInterval)
	}
}

// auditRecord is the part of audit.k8s.io/v1 Event that is read.
type auditRecord struct {
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
}

// parseAudit folds the stages of each request into one event. pending reports
// a request without an answer that arrived after the limit.
func parseAudit(log []byte, limit time.Time) (events []AuditEvent, pending bool, err error) {
	position := map[string]int{} // of each audit ID in events
	for line := range bytes.Lines(log) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // being written
		}
		var r auditRecord
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, false, err
		}
		if r.UserAgent == userAgent {
			continue
		}
		i, seen := position[r.AuditID]
		if !seen {
			i = len(events)
			position[r.AuditID] = i
			events = append(events, AuditEvent{})
		}
		events[i] = r.event()
	}
	for _, e := range events {
		if e.Code == 0 && e.Verb != "watch" && e.Received.After(limit) {
			pending = true
		}
	}
	return events, pending, nil
}

func (r auditRecord) event() AuditEvent {
	return AuditEvent{
		Verb:        r.Verb,
		User:        r.User.Username,
		UserAgent:   r.UserAgent,
		Resource:    r.ObjectRef.Resource,
		Subresource: r.ObjectRef.Subresource,
		Namespace:   r.ObjectRef.Namespace,
		Name:        r.ObjectRef.Name,
		Path:        r.RequestURI,
		Code:        r.ResponseStatus.Code,
		Received:    r.RequestReceivedTimestamp,
	}
}
