package viewcache

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/view"
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
var ErrWentBack = errors.New("the list is older than what the server said before; if the server was restored from a backup, the next list will be taken")

// Cache holds the views. Its methods may be called at the same time.
type Cache struct {
	// input is held by the caller that changes something, from the first look at what is
	// known to the publication; it keeps no reader waiting.
	input sync.Mutex
	known [kinds]map[view.Key]*known
	// suspects are missing in a complete list and not confirmed to be gone.
	suspects map[Suspect]struct{}

	// mu is held while something is published, and by readers for a moment.
	mu       sync.RWMutex
	scopes   []scope
	services map[view.Key]*service
	synced   bool
	seq      uint64
	forms    [forms]changes
	slots    slots
	graves   []grave
	// pruned is the number of the newest change that is forgotten.
	pruned uint64
	// epoch counts how often history began anew.
	epoch uint64
	// batch is the token of before what is being published.
	batch string
	news  bool
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
	// held is where the position stands still for clients while a suspect is
	// neither confirmed nor back.
	held [kinds]Revision
	// floor is the first position that can be gone on from.
	floor Position
}

// published is the position that clients are told.
func (s *scope) published() Position {
	p := s.reached
	for kind, held := range s.held {
		if held > 0 {
			p[kind] = held
		}
	}
	return p
}

// known is what is known of one object of a watch.
type known struct {
	scope    int
	revision Revision
	service  *view.Service
	slice    *view.Slice
}

// grave is an object that is gone.
type grave struct {
	item *item
	seq  uint64
	at   time.Time
}

// Suspect is an object that a complete list does not have, although it was there and
// nothing told that it went.
type Suspect struct {
	Scope int
	Kind  Kind
	Key   view.Key
}

// New returns a cache of so many scopes. It is empty and not in sync.
func New(scopes int) *Cache {
	c := &Cache{
		scopes: make([]scope, scopes), services: make(map[view.Key]*service), suspects: make(map[Suspect]struct{}),
		changes: make(chan struct{}), moves: make(chan struct{}),
	}
	for kind := range c.known {
		c.known[kind] = make(map[view.Key]*known)
	}
	return c
}

// Synced reports whether every watch has told a complete list and all was joined.
func (c *Cache) Synced() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced
}

// Count returns how many endpoints there are.
func (c *Cache) Count() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := 0
	for _, s := range c.services {
		n += len(s.items)
	}
	return n
}

// token is how far the watches are for clients. It is called under the lock.
func (c *Cache) token() Token {
	token := make(Token, len(c.scopes))
	for i := range c.scopes {
		token[i] = c.scopes[i].published()
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
		g := c.graves[n]
		n++
		if g.item.seq != g.seq {
			continue // it came back
		}
		s := g.item.service
		c.pruned = max(c.pruned, g.seq)
		c.scopes[s.scope].floor = c.scopes[s.scope].floor.join(g.item.at)
		delete(s.gone, goneKey{g.item.form, g.item.name})
		c.forms[g.item.form].remove(g.item)
		c.slots.give(g.item.slot)
		c.drop(s)
	}
	c.graves = slices.Delete(c.graves, 0, n)
}

// drop forgets a Service of which nothing is known any more.
func (c *Cache) drop(s *service) {
	if s.empty() {
		delete(c.services, s.key)
	}
}
