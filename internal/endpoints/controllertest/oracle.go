package controllertest

import (
	"fmt"
	"net/netip"
	"time"
)

// Promise is a line of docs/design/contract.md that makes an exception of the sentences of an Oracle.
type Promise int

// What the contract says in words.
const (
	None Promise = iota
	// No Service, or another one: kube-proxy uses nothing.
	NoService
	// Other ports: kube-proxy uses nothing of slices with the ports of before.
	OtherPorts
	// Moved is an address that another node has now.
	Moved
	// Unasked and Unsteady are what checks do not say.
	Unasked
	Unsteady
	// WrongInventory and CutOff are what the guard does.
	WrongInventory
	CutOff
	// Foreign is a slice that another client changed.
	Foreign
	// CannotWrite, Refused and StoredOtherwise are what an API server does.
	CannotWrite
	Refused
	StoredOtherwise
	// Unclear, Fewer, Replaced, Kept and Released are what documents say, or do not say any more.
	Unclear
	Fewer
	Replaced
	Kept
	Released
)

// Says returns the number of the promise and words of it.
func (p Promise) Says() (number int, words string) {
	switch p {
	case NoService:
		return 25, "Without the Service, or while it is being deleted"
	case OtherPorts:
		return 206, "so that the old is of no use, the new one comes at once"
	case Moved:
		return 7, "an address that moves to another node starts as a new endpoint"
	case Unasked:
		return 9, "`LocalError` counts for nothing"
	case Unsteady:
		return 10, "one opposite result restarts the count"
	case WrongInventory:
		return 13, "an endpoint that a rejected inventory leaves out is *kept*"
	case CutOff:
		return 14, "silence takes no endpoint down"
	case Foreign:
		return 23, "foreign edits to endpoints are repaired, with back-off against an edit war"
	case CannotWrite:
		return 26, "A write that fails delays that slice only"
	case Refused:
		return 200, "Creates that are refused, however long, keep the old ones"
	case StoredOtherwise:
		return 171, "What the API server stored counts"
	case Unclear:
		return 60, "A team's mistake takes away nothing that was granted before"
	case Fewer:
		return 201, "Less is told"
	case Replaced:
		return 204, "Replaced is what a valid binding or annotation does not name any more"
	case Kept:
		return 204, "What no document speaks of any more stays, unchecked"
	case Released:
		return 60, "then its slices are emptied"
	case None:
	}
	return 0, ""
}

// Endpoint is an endpoint of a Service at one moment, as it really is.
type Endpoint struct {
	At netip.AddrPort
	// Used says that kube-proxy sends connections there, Answers that they are answered, Old that slices
	// have it that are to go.
	Used, Answers, Old bool
	// Unable is why it cannot be published, Stays why it may stay when it is dead.
	Unable, Stays Promise
}

// TooFew says of which endpoints too few pass to take the place of others (201): in each family half as
// many have to as serve in the old. Of those the checks may say nothing, and then they count.
func TooFew(all []Endpoint) {
	for _, is4 := range []bool{true, false} {
		serve, pass := 0, 0
		for _, e := range all {
			if e.At.Addr().Is4() != is4 {
				continue
			}
			if e.Old && e.Used && (e.Answers || e.Stays == CutOff || e.Stays == Kept) {
				serve++
			}
			if e.Unable != Replaced && e.Answers {
				pass++
			}
		}
		for i := range all {
			if 2*pass < serve && all[i].Unable != Replaced {
				all[i].Unable = Fewer
			}
		}
	}
}

// Oracle judges two sentences at each moment, for each Service and each family of addresses:
//
//   - While an endpoint that has passed RISE times could be published, one that passes is.
//   - While one that passes is published, none stays for longer than FALL intervals and a
//     write after it died, unless the contract says so in words.
//
// It knows nothing of the program: only what kube-proxy uses, and what is there.
type Oracle struct {
	// Joins is how long RISE passes and the writes of that may take, Leaves how long FALL
	// failures and a write may.
	Joins, Leaves time.Duration

	families map[string]*family
}

// family is what was seen of the endpoints of a Service in one address family.
type family struct {
	lives map[netip.AddrPort]life
	// dry is since when nothing that answers is used.
	dry time.Time
}

// life is since when something is so of an endpoint without a pause; zero where it is not: it
// answers, it also could be published, it also is used; it is dead and not excused, it also is
// used.
type life struct{ up, able, good, down, bad time.Time }

// Look takes in what is there of a Service now, and returns which sentence does not hold.
// Where kube-proxy uses nothing of our slices for another reason, away says which one.
func (o *Oracle) Look(service string, all []Endpoint, away Promise) string {
	if o.families == nil {
		o.families = make(map[string]*family)
	}
	for _, is4 := range []bool{true, false} {
		name := fmt.Sprintf("%s, IPv4 %v", service, is4)
		if o.families[name] == nil || away != None {
			o.families[name] = &family{dry: time.Now()}
		}
		if problem := o.families[name].look(o, is4, all); problem != "" && away == None {
			return name + ": " + problem
		}
	}
	return ""
}

// Begin is a start of the program: "an endpoint goes down only by FALL failures of this
// process" (28), and what it has to find out takes its time again.
func (o *Oracle) Begin() {
	for _, f := range o.families {
		f.dry = time.Now()
		for at, l := range f.lives {
			f.lives[at] = life{up: l.up, good: l.good, down: l.down}
		}
	}
}

func (f *family) look(o *Oracle, is4 bool, all []Endpoint) string {
	before := f.lives
	f.lives = make(map[netip.AddrPort]life, len(all))
	// served says that what works is used, lately that it may be or was so within Leaves, steady
	// that it has been so for longer.
	var served, lately, steady bool
	for _, e := range all {
		if e.At.Addr().Is4() != is4 {
			continue
		}
		l := before[e.At].next(e)
		f.lives[e.At] = l
		served = served || !l.good.IsZero()
		lately = lately || e.Used && !lasts(l.down, o.Leaves)
		steady = steady || lasts(l.good, o.Leaves) && e.Stays != Kept // a kept one is not checked
	}
	f.dry = since(f.dry, !served)
	for _, e := range all {
		switch l := f.lives[e.At]; {
		case !lately && lasts(l.up, o.Joins) && !before[e.At].good.IsZero() && e.Unable != StoredOtherwise:
			return fmt.Sprintf("%s works and was used, and nothing that works is used any more", e.At)
		case lasts(l.able, o.Joins) && lasts(f.dry, o.Joins):
			return fmt.Sprintf("%s works and could be published for %s, and nothing that works is used for %s", e.At, time.Since(l.able), time.Since(f.dry))
		case steady && lasts(l.bad, o.Leaves):
			return fmt.Sprintf("%s is dead and used for %s, while another one that works is used", e.At, time.Since(l.bad))
		}
	}
	return ""
}

// next is the life of an endpoint that is so now.
func (l life) next(e Endpoint) life {
	return life{
		up: since(l.up, e.Answers), able: since(l.able, e.Answers && e.Unable == None), good: since(l.good, e.Answers && e.Used),
		down: since(l.down, !e.Answers && e.Stays == None), bad: since(l.bad, !e.Answers && e.Used && e.Stays == None),
	}
}

// since is since when something is so.
func since(before time.Time, so bool) time.Time {
	switch {
	case !so:
		return time.Time{}
	case before.IsZero():
		return time.Now()
	}
	return before
}

func lasts(at time.Time, d time.Duration) bool { return !at.IsZero() && time.Since(at) > d }
