// Command backend is a worker's HTTP server that misbehaves on request. It answers
// every request with its name. Each line on its input is a [mode]; it prints a line
// when the mode holds. SIGTERM ends it gracefully: it answers the requests under way.
// The end of its input ends it too. With -handshake it is an HTTPS server.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// mode is the order for the backend: "ok", "refuse" (does not listen), "hang"
// (accepts and never answers), "status 503", "slow 300ms" (answers later), "idle 5s"
// (closes connections on which no request came in that time), "reset 2s" (the same with a
// reset), "keep 5s" (closes connections that are idle for that time after an answer), or
// "single" (serves one connection at a time).
type mode struct {
	word   string
	status int
	delay  time.Duration
}

func parse(line string) (mode, error) {
	m := mode{status: http.StatusOK}
	word, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	m.word = word
	var err error
	switch word {
	case "ok", "refuse", "hang", "single":
	case "status":
		_, err = fmt.Sscan(argument, &m.status)
	case "slow", "idle", "reset", "keep":
		m.delay, err = time.ParseDuration(argument)
	default:
		err = fmt.Errorf("unknown mode %q", word)
	}
	return m, err
}

type backend struct {
	name, listen string
	mode         atomic.Pointer[mode]
	// handshake is how long a TLS handshake may take; without TLS it is 0.
	handshake time.Duration
	server    *http.Server
	idle      idle
}

func main() {
	b := &backend{}
	flag.StringVar(&b.name, "name", "backend", "what every answer says")
	flag.StringVar(&b.listen, "listen", ":8080", "where to listen")
	flag.DurationVar(&b.handshake, "handshake", 0, "speak TLS, and close a connection whose handshake takes longer")
	flag.Parse()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	told := make(chan string)
	go read(os.Stdin, told)
	if err := b.obey("ok"); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("ok")
	for {
		select {
		case <-terminated:
			b.stop()
			return
		case line, ok := <-told:
			if !ok {
				return
			}
			if err := b.obey(line); err != nil {
				fmt.Println("error:", err)
				continue
			}
			fmt.Println("ok")
		}
	}
}

func read(from io.Reader, lines chan<- string) {
	defer close(lines)
	scanner := bufio.NewScanner(from)
	for scanner.Scan() {
		lines <- scanner.Text()
	}
}

// obey changes the mode, and listens exactly when the mode wants it.
func (b *backend) obey(line string) error {
	m, err := parse(line)
	if err != nil {
		return err
	}
	b.mode.Store(&m)
	switch {
	case m.word == "refuse" && b.server != nil:
		err = b.server.Close()
		b.server = nil
	case m.word != "refuse" && b.server == nil:
		err = b.serve()
	}
	b.idle.bound(m)
	return err
}

// serve begins to listen.
func (b *backend) serve() error {
	listener, err := net.Listen("tcp", b.listen)
	if err != nil {
		return err
	}
	// Of the time-outs of a server this one bounds the handshake.
	s := &http.Server{Handler: b, ConnState: b.idle.track, ReadHeaderTimeout: b.handshake}
	serve := s.Serve
	if b.handshake > 0 {
		if s.TLSConfig, err = selfSigned(); err != nil {
			return err
		}
		serve = func(l net.Listener) error { return s.ServeTLS(l, "", "") }
	}
	b.server = s
	go func() { _ = serve(&oneByOne{Listener: listener, backend: b}) }()
	return nil
}

// stop ends gracefully, as a program in a Pod does when its node is drained.
func (b *backend) stop() {
	if b.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = b.server.Shutdown(ctx) // what is left is cut off
}

// ServeHTTP answers as the mode says.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := b.mode.Load()
	if m.word == "hang" {
		<-r.Context().Done()
		return
	}
	if m.word == "slow" {
		select {
		case <-time.After(m.delay):
		case <-r.Context().Done():
			return
		}
	}
	w.WriteHeader(m.status)
	_, _ = io.WriteString(w, b.name) // the client may be gone
}
