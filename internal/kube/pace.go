package kube

import (
	"sync"
	"time"
)

// pace is for how long watches of one resource may tell nothing before a complete list is
// due. One list of many namespaces shows for all what a server is like.
type pace struct {
	mu      sync.Mutex
	silence time.Duration
	// listed is when a complete list was last taken over, doubled when silence last was.
	listed, doubled time.Time
}

// pace returns that of a resource.
func (c *Client) pace(resource string) *pace {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paces == nil {
		c.paces = make(map[string]*pace)
	}
	if c.paces[resource] == nil {
		c.paces[resource] = &pace{silence: silenceMin}
	}
	return c.paces[resource]
}

func (p *pace) now() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silence
}

// list notes a complete list, and that a silent watch was the reason.
func (p *pace) list(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed = time.Now()
	if silent && time.Since(p.doubled) > p.silence {
		p.silence, p.doubled = min(2*p.silence, silenceMax), p.listed
	}
}

// bookmark notes one that follows another of the same watches, which came at that time. Two
// in a row show that the server sends them, unless lists were why: for a list it asks etcd
// how far it is.
func (p *pace) bookmark(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(before) < longestSilence && before.Sub(p.listed) > longestWatch {
		p.silence = silenceMin
	}
}
