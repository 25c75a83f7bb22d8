package controlplane

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	// Source is the address that the request came from.
	Source string
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
		events, pending, err := cp.audit.read(filepath.Join(cp.dir, auditFile), time.Now().Add(-auditTimeout))
		if err != nil {
			cp.t.Fatalf("controlplane: %v", err)
		}
		if !pending || cp.server.Ended() {
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
	SourceIPs []string `json:"sourceIPs"`
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

// auditLog is what was read of an audit log so far. Tests ask in loops, so each line
// is decoded once.
type auditLog struct {
	mu       sync.Mutex
	offset   int64
	events   []AuditEvent
	position map[string]int // of each audit ID in events
}

// read reads what is new, and returns all events. pending reports a request without an
// answer that arrived after the limit.
func (l *auditLog) read(path string, limit time.Time) (events []AuditEvent, pending bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, err := l.unread(path)
	if err != nil {
		return nil, false, fmt.Errorf("read the audit log: %w", err)
	}
	if err := l.add(lines); err != nil {
		return nil, false, fmt.Errorf("parse the audit log: %w", err)
	}
	for _, e := range l.events {
		if e.Code == 0 && e.Verb != "watch" && e.Received.After(limit) {
			pending = true
		}
	}
	return slices.Clone(l.events), pending, nil
}

// unread returns the complete lines that were not read before.
func (l *auditLog) unread(path string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	lines := data[:bytes.LastIndexByte(data, '\n')+1] // the rest is being written
	l.offset += int64(len(lines))
	return lines, nil
}

// add folds the stages of each request into one event.
func (l *auditLog) add(lines []byte) error {
	if l.position == nil {
		l.position = map[string]int{}
	}
	for line := range bytes.Lines(lines) {
		var r auditRecord
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if r.UserAgent == userAgent {
			continue
		}
		i, seen := l.position[r.AuditID]
		if !seen {
			i = len(l.events)
			l.position[r.AuditID] = i
			l.events = append(l.events, AuditEvent{})
		}
		l.events[i] = r.event()
	}
	return nil
}

func (r auditRecord) event() AuditEvent {
	return AuditEvent{
		Verb:        r.Verb,
		User:        r.User.Username,
		UserAgent:   r.UserAgent,
		Source:      strings.Join(r.SourceIPs, ","),
		Resource:    r.ObjectRef.Resource,
		Subresource: r.ObjectRef.Subresource,
		Namespace:   r.ObjectRef.Namespace,
		Name:        r.ObjectRef.Name,
		Path:        r.RequestURI,
		Code:        r.ResponseStatus.Code,
		Received:    r.RequestReceivedTimestamp,
	}
}
