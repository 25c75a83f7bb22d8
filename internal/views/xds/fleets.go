package xds

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// longestFile bounds what is read, in bytes.
const longestFile = 1 << 20

// Carrier is where a fleet is written down.
type Carrier string

// The carriers. Where both name a fleet, the file counts.
const (
	InFile   Carrier = "file"
	InObject Carrier = "object"
)

// Fleets are what the proxies of fleets do, as a file and objects of the API server say it.
// The file is read again when it changes; a version with a mistake leaves the last good one
// in effect, of the file as of each object.
//
// A fleet that neither names any more stays as it was: its proxies work, and that it is
// missing may be a mistake. A fleet that is there with an empty list has no listeners.
type Fleets struct {
	path string
	// awaits says that objects are read, and that they were not told yet.
	awaits bool

	mu      sync.Mutex
	text    string
	file    map[string]envoyconfig.Traffic
	objects map[string]Object
	all     map[string]envoyconfig.Traffic
	checked time.Time
	problem error
	// using are fleets with proxies. gone are those without that nothing names any more,
	// since when.
	using map[string]bool
	gone  map[string]time.Time
	// unread says why the objects of a namespace cannot be read, of "" those of all.
	unread map[string]error
	// news has something when objects have changed.
	news chan struct{}
}

// Object is what an object of the API server says of a fleet.
type Object struct {
	Traffic envoyconfig.Traffic
	// Problem says why the newest version is not in effect, nil if it is. Then Traffic
	// does not count.
	Problem error
}

// ReadFleets reads the file.
func ReadFleets(path string) (*Fleets, error) {
	f := NewFleets()
	f.path = path
	if f.read(); f.problem != nil {
		return nil, f.problem
	}
	return f, nil
}

// NewFleets are none, until Replace tells those of objects.
func NewFleets() *Fleets {
	return &Fleets{
		checked: time.Now(),
		objects: make(map[string]Object), all: make(map[string]envoyconfig.Traffic), news: make(chan struct{}, 1),
		using: make(map[string]bool), gone: make(map[string]time.Time), unread: make(map[string]error),
	}
}

// Await makes the fleets wait for objects.
func (f *Fleets) Await() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.awaits = true
}

// Complete reports whether it is known which fleets there are.
func (f *Fleets) Complete() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.awaits
}

// Replace takes over a complete list of objects, by fleet.
func (f *Fleets) Replace(all map[string]Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects, f.awaits = all, false
	f.merge()
	transport.Signal(f.news)
}

// Unread takes over why the objects of a namespace cannot be read, of "" those of all; nil where
// they can. Those that are known stay.
func (f *Fleets) Unread(namespace string, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unread[namespace] = why
}

// merge makes of both carriers what the fleets do.
func (f *Fleets) merge() {
	all := maps.Clone(f.all)
	f.forget(all, time.Now())
	for name, o := range f.objects {
		if o.Problem == nil {
			all[name] = o.Traffic
		}
	}
	maps.Copy(all, f.file)
	f.all = all
}

// current returns what the fleets do.
func (f *Fleets) current() map[string]envoyconfig.Traffic {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	f.merge()
	return f.all
}

// Problem says why the newest version of the file is not in effect, nil if it is.
func (f *Fleets) Problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return f.problem
}

// look reads the file again, if it was not just read.
func (f *Fleets) look() {
	if f.path != "" && time.Since(f.checked) >= every {
		f.checked = time.Now()
		f.read()
	}
}

func (f *Fleets) read() {
	text, err := system.ReadFile(f.path, longestFile)
	if err != nil {
		f.problem = fmt.Errorf("read the fleets: %w", err)
		return
	}
	if f.file != nil && string(text) == f.text {
		f.problem = nil
		return
	}
	file, err := envoyconfig.FromFile(text)
	if f.problem = err; err != nil {
		f.problem = fmt.Errorf("%s: %w", f.path, err)
		return
	}
	f.text, f.file = string(text), file
}

// Definition is where a fleet is written down, and whether that counts.
type Definition struct {
	// Carrier is empty where neither names the fleet.
	Carrier Carrier `json:"carrier,omitempty"`
	// Kept says that nothing names the fleet any more, and that it has what it had.
	Kept bool `json:"kept,omitempty"`
	// Problem says why the newest version is not in effect.
	Problem string `json:"problem,omitempty"`
	// Unread says why it is not known whether there is a newer version.
	Unread string `json:"unread,omitempty"`
}

// KeptReason is why a fleet has listeners that nothing confirms.
type KeptReason string

// The reasons for which a fleet keeps its listeners.
const (
	// KeptMissing is for a fleet that nothing names any more.
	KeptMissing KeptReason = "missing"
	// KeptInvalid is for one whose newest version has a mistake.
	KeptInvalid KeptReason = "invalid"
	// KeptUnread is for one whose object cannot be read.
	KeptUnread KeptReason = "unread"
)

// kept is empty where the newest version is in effect.
func (d Definition) kept() KeptReason {
	switch {
	case d.Kept:
		return KeptMissing
	case d.Problem != "":
		return KeptInvalid
	case d.Unread != "":
		return KeptUnread
	}
	return ""
}

// Definition returns that of a fleet.
func (f *Fleets) Definition(name string) Definition {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, known := f.all[name]
	_, inFile := f.file[name]
	o, inObject := f.objects[name]
	if !inObject && !known {
		o, inObject = f.objects[envoyconfig.Others(name)]
	}
	namespace, _, _ := strings.Cut(name, "/")
	unread := cmp.Or(f.unread[namespace], f.unread[""])
	switch {
	case inFile && f.problem != nil:
		return Definition{Carrier: InFile, Problem: f.problem.Error()}
	case inFile:
		return Definition{Carrier: InFile}
	case o.Problem != nil:
		return Definition{Carrier: InObject, Problem: o.Problem.Error()}
	case inObject && unread != nil:
		return Definition{Carrier: InObject, Unread: unread.Error()}
	case inObject:
		return Definition{Carrier: InObject}
	}
	return Definition{Kept: known}
}
