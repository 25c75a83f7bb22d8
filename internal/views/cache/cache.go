package cache

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

const (
	// remembered is how long what is gone is remembered.
	remembered = 10 * time.Minute
	// leastGraves is how many objects that are gone are remembered at the least;
	// more only as long as there are as many that are there.
	leastGraves = 4096
)

// ErrWentBack says that a complete list is older than what is known. That is so where
// the server was restored from a backup; the second such list counts.
var ErrWentBack = errors.New("the list is older than the last answer of the server; if the server was restored from a backup, the next list will be taken")

// Cache holds the views. Its methods may be called at the same time.
type Cache struct {
	// input is held by the caller that changes something, from the first look at what is
	// known to the publication; it keeps no reader waiting.
	input sync.Mutex
	known [kinds]map[join.Key]cachedObject
	// hidden are the scopes of Services that are there and not selected.
	hidden map[join.Key]int
	// unconfirmed are missing in a complete list and not confirmed to be gone.
	unconfirmed map[UnconfirmedObject]struct{}
	spaces      map[string]*space

	// mu is held while something is published, and by readers for a moment.
	mu       sync.RWMutex
	scopes   []scope
	services map[join.Key]*service
	crowds   map[string]crowd
	synced   bool
	seq      uint64
	// told counts the changes of single endpoints.
	told   uint64
	forms  [forms]changes
	slots  slots
	graves []grave
	// pruned is the number of the newest change that is forgotten.
	pruned uint64
	// epoch counts how often history began anew.
	epoch uint64
	news  bool
	// followers are told which Services changed.
	followers map[*Follower]struct{}
	// changes is closed by the next change, moves by the next move of a watch.
	changes, moves chan struct{}
}

// scope is what one pair of watches tells of: a namespace, or everything.
type scope struct {
	// reached is how far the watches are, lists which of them have told a complete
	// list, and backwards that the last such list was too old and was refused.
	reached   Position
	lists     [kinds]bool
	backwards [kinds]bool
	// wrong says that the last complete list left out something that is there.
	wrong [kinds]bool
	// unsure says that the last complete list may be wrong, or is.
	unsure [kinds]bool
	// floor is the first position that can be gone on from.
	floor Position
}

// published is the position that clients are told: none, before every position, while
// a list may be wrong. Clients may have been shown less or more than it stands for.
func (s *scope) published() Position {
	if s.unsure != [kinds]bool{} {
		return Position{}
	}
	return s.reached
}

// cachedObject is what is kept of one object of a watch; nothing where it is empty.
type cachedObject struct {
	Input

	scope int
}

// grave is an object that is gone, or the history of a Service of which neither it nor
// a slice is left.
type grave struct {
	item *item // nil for a history
	seq  uint64
	// service and last are those of a history.
	service *service
	last    Position
	at      time.Time
}

// UnconfirmedObject is an object that a complete list does not have, although it was there and
// nothing told that it went.
type UnconfirmedObject struct {
	Scope int
	Kind  Kind
	Key   join.Key
}

// New returns a cache of so many scopes. It is empty and not in sync.
func New(scopes int) *Cache {
	c := &Cache{
		scopes: make([]scope, scopes), services: make(map[join.Key]*service), unconfirmed: make(map[UnconfirmedObject]struct{}), hidden: make(map[join.Key]int),
		followers: make(map[*Follower]struct{}), spaces: make(map[string]*space), crowds: make(map[string]crowd),
		changes: make(chan struct{}), moves: make(chan struct{}),
	}
	for kind := range c.known {
		c.known[kind] = make(map[join.Key]cachedObject)
	}
	return c
}

// Synced reports whether every watch has told a complete list and all was joined.
func (c *Cache) Synced() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced
}

// Hides reports whether there is such a Service, and it is not selected.
func (c *Cache) Hides(key join.Key) bool {
	c.input.Lock()
	defer c.input.Unlock()
	_, hidden := c.hidden[key]
	return hidden
}

// Count returns how many endpoints there are.
func (c *Cache) Count() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.forms[single].live
}

// States returns how many endpoints are in each state.
func (c *Cache) States() map[views.State]int {
	states := map[views.State]int{views.Ready: 0, views.Draining: 0, views.Down: 0}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, s := range c.services {
		for i := range s.joined {
			states[s.joined[i].State]++
		}
	}
	return states
}

// Changes returns how many endpoints were added, changed and removed so far.
func (c *Cache) Changes() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.told
}

// token is how far the watches are for clients of a selection. It is called under the lock.
func (c *Cache) token(selection Selection) Token {
	token := make(Token, len(c.scopes))
	for i := range c.scopes {
		if !c.crowded(selection, i) {
			token[i] = c.scopes[i].published()
		}
	}
	return token
}

// tell wakes the readers that wait for what was published.
func (c *Cache) tell() {
	if c.news {
		close(c.changes)
		c.changes, c.news = make(chan struct{}), false
	}
	close(c.moves)
	c.moves = make(chan struct{})
}

// prune forgets what is gone for so long that no reader may ask for it.
func (c *Cache) prune(now time.Time) {
	most := leastGraves
	for f := range c.forms {
		most = max(most, c.forms[f].live)
	}
	n := 0
	for n < len(c.graves) && (now.Sub(c.graves[n].at) > remembered || len(c.graves)-n > most) {
		if g := c.graves[n]; g.item != nil {
			c.forget(g)
		} else {
			c.forgetHistory(g)
		}
		n++
	}
	c.graves = slices.Delete(c.graves, 0, n)
}

// forget forgets an object, if it did not come back.
func (c *Cache) forget(g grave) {
	if g.item.seq != g.seq {
		return
	}
	s := g.item.service
	c.pruned = max(c.pruned, g.seq)
	c.scopes[s.scope].floor = c.scopes[s.scope].floor.join(g.item.at)
	delete(s.gone, g.item.itemKey)
	c.forms[g.item.form].remove(g.item)
	c.slots.give(g.item.slot)
}

// forgetHistory forgets a Service, if it did not come back. Its objects have older
// graves.
func (c *Cache) forgetHistory(g grave) {
	if s := g.service; c.services[s.key] == s && s.empty() && s.history.last == g.last {
		c.scopes[s.scope].floor = c.scopes[s.scope].floor.join(g.last)
		delete(c.services, s.key)
	}
}
