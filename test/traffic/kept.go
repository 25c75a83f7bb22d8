package traffic

import (
	"bufio"
	"net"
	"net/netip"
	"sync"
)

// connection is one to the target.
type connection struct {
	net.Conn
	source netip.AddrPort
	reader *bufio.Reader
}

// keptConns are the connections that carry one request after the other. They are used in turn,
// so that none of them is idle for long.
type keptConns struct {
	most int

	mu   sync.Mutex
	open int
	idle []*connection
}

// take returns the connection that is idle for the longest time, nil where one is to be
// opened.
func (k *keptConns) take() *connection {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open < k.most || len(k.idle) == 0 {
		k.open++
		return nil
	}
	c := k.idle[0]
	k.idle = k.idle[1:]
	return c
}

// give takes a connection back, to be used again or not.
func (k *keptConns) give(c *connection, again bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if again && k.open <= k.most {
		k.idle = append(k.idle, c)
		return
	}
	k.open--
	if c != nil {
		_ = c.Close()
	}
}

// close closes all that are idle.
func (k *keptConns) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.idle {
		_ = c.Close()
	}
	k.idle = nil
}
