package kube

import (
	"context"
	"net"
	"sync"
	"time"
)

// lines are the connections of one client.
type lines struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu   sync.Mutex
	open map[*line]struct{}
}

// line is one connection. In HTTP/2 it carries many requests at once.
type line struct {
	net.Conn

	lines *lines
	// heard is when something last came in, taken when a request last went out;
	// both under the lock of lines.
	heard, taken time.Time
}

func newLines(dial func(ctx context.Context, network, address string) (net.Conn, error)) *lines {
	return &lines{dial: dial, open: make(map[*line]struct{})}
}

// DialContext opens a connection.
func (l *lines) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := l.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	opened := &line{Conn: connection, lines: l, heard: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[opened] = struct{}{}
	return opened, nil
}

// take notes that a request goes out over the connection, and returns which it is;
// nil for one that is not of these.
func (l *lines) take(connection net.Conn) *line {
	for {
		if taken, ok := connection.(*line); ok {
			l.mu.Lock()
			defer l.mu.Unlock()
			taken.taken = time.Now()
			return taken
		}
		outer, ok := connection.(interface{ NetConn() net.Conn }) // of package tls
		if !ok {
			return nil
		}
		connection = outer.NetConn()
	}
}

// closeSilent closes the connections over which nothing came since then, so the
// one of the request that nobody answered too. It spares those of other requests
// that went out later: they may still be answered, and their writes be known.
func (l *lines) closeSilent(since time.Time, own *line) {
	l.closeIf(func(c *line) bool { return c.heard.Before(since) && (c == own || c.taken.Before(since)) })
}

// closeAll closes every connection.
func (l *lines) closeAll() { l.closeIf(func(*line) bool { return true }) }

func (l *lines) closeIf(chosen func(*line) bool) {
	var closing []*line
	l.mu.Lock()
	for c := range l.open {
		if chosen(c) {
			closing = append(closing, c)
		}
	}
	l.mu.Unlock()
	for _, c := range closing {
		_ = c.Close() // whoever uses it is told
	}
}

// Read notes that something came.
func (c *line) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.lines.mu.Lock()
		defer c.lines.mu.Unlock()
		c.heard = time.Now()
	}
	return n, err
}

// Close forgets the connection.
func (c *line) Close() error {
	c.lines.mu.Lock()
	delete(c.lines.open, c)
	c.lines.mu.Unlock()
	return c.Conn.Close()
}
