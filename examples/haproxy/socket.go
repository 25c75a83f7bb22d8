package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// socket is HAProxy's runtime API.
type socket struct{ path string }

const (
	longestCommand = 5 * time.Second
	longestAnswer  = 16 << 20
)

// command is what is sent, and the answer that means that it was done.
type command struct{ text, answer string }

// anything is the answer of a command whose answer says nothing certain; what came of
// it is seen at the next look.
const anything = "*"

// refusal is another answer.
type refusal struct{ command, answer string }

func (r *refusal) Error() string { return fmt.Sprintf("HAProxy answers %q to %q", r.answer, r.command) }

// busy reports that the server has requests under way.
func (r *refusal) busy() bool { return strings.HasPrefix(r.answer, "Server still has connections") }

// do sends a command that changes something.
func (s socket) do(ctx context.Context, c command) error {
	answer, err := s.ask(ctx, c.text)
	if err == nil && c.answer != anything && answer != c.answer {
		return &refusal{c.text, answer}
	}
	return err
}

// ask sends one command on a connection of its own, as HAProxy wants it.
func (s socket) ask(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longestCommand)
	defer cancel()
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", s.path)
	if err != nil {
		return "", fmt.Errorf("HAProxy's socket: %w", err)
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(connection, text+"\n"); err != nil {
		return "", fmt.Errorf("send %q to HAProxy: %w", text, err)
	}
	answer, err := io.ReadAll(io.LimitReader(connection, longestAnswer))
	if err != nil {
		return "", fmt.Errorf("read HAProxy's answer to %q: %w", text, err)
	}
	return strings.TrimSpace(string(answer)), nil
}

// servers are those that a backend has.
func (s socket) servers(ctx context.Context, backend string) (map[string]server, error) {
	question := "show servers state " + backend
	answer, err := s.ask(ctx, question)
	if err != nil {
		return nil, err
	}
	servers, err := parseServers(answer)
	if err != nil {
		return nil, fmt.Errorf("%w: HAProxy answers %.200q to %q", err, answer, question)
	}
	return servers, nil
}

// parseServers reads the answer to "show servers state": a version, the names of the
// columns, a line for each server.
func parseServers(text string) (map[string]server, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 2 || lines[0] != "1" || !strings.HasPrefix(lines[1], "# ") {
		return nil, fmt.Errorf("no list of servers; is there such a backend, and is the socket of level admin")
	}
	columns := strings.Fields(lines[1])[1:]
	servers := make(map[string]server, len(lines))
	for _, line := range lines[2:] {
		fields := strings.Fields(line)
		field := func(name string) string {
			if i := slices.Index(columns, name); i >= 0 && i < len(fields) {
				return fields[i]
			}
			return ""
		}
		admin, err := strconv.ParseUint(field("srv_admin_state"), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the list of servers cannot be read: %w", err)
		}
		one := server{state: ready}
		switch { // the bits of "forced", which is what the socket sets
		case admin&1 != 0:
			one.state = maint
		case admin&8 != 0:
			one.state = drain
		}
		// One that cannot be parsed is another address than ours.
		one.address, _ = netip.ParseAddrPort(net.JoinHostPort(field("srv_addr"), field("srv_port")))
		servers[field("srv_name")] = one
	}
	return servers, nil
}
