package health

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// answerLimit is how much of an answer is read, status, headers and body
// together.
const answerLimit = 10 << 10

// userAgent names the program to the backends.
const userAgent = "ionos-endpointslice-controller"

// get sends one request on the connection and judges the answer.
//
// It does without http.Client: no redirect, proxy, cookie, pool or other address
// can be switched on by mistake.
func (c *Checker) get(ctx context.Context, conn net.Conn, target netip.AddrPort) answer {
	tried := attempt{target: target, step: asking, what: c.what(target)}
	if _, err := conn.Write(c.request(target)); err != nil {
		return c.judge(ctx, tried, err)
	}
	limited := &io.LimitedReader{R: conn, N: answerLimit}
	reader, _ := c.readers.Get().(*bufio.Reader)
	if reader == nil {
		reader = bufio.NewReader(nil)
	}
	reader.Reset(limited)
	defer func() {
		reader.Reset(nil)
		c.readers.Put(reader)
	}()
	response, err := finalResponse(reader) //nolint:bodyclose // holds nothing; its Close would read on
	switch {
	case err != nil && limited.N <= 0:
		return refused(inventory.ProbeRefused, fmt.Sprintf("%s answered with more than %d bytes of headers", tried.what, answerLimit))
	case err != nil:
		return c.judge(ctx, tried, err)
	}
	tried.what += " answered " + response.Status
	if !c.options.Expected.Contains(response.StatusCode) {
		return refused(inventory.ProbeStatus, tried.what+", not HEALTH_CHECK_EXPECTED_STATUS="+c.options.Expected.String())
	}
	// A body that breaks off or does not end is no answer. One that is merely
	// long is cut, and passes.
	if _, err := io.Copy(io.Discard, response.Body); err != nil && limited.N > 0 {
		tried.what += ", then its body"
		return c.judge(ctx, tried, err)
	}
	return passed(tried.what)
}

// finalResponse reads the response that follows the informational ones (100,
// 103). The limit of the reader bounds them.
func finalResponse(reader *bufio.Reader) (*http.Response, error) {
	for {
		response, err := http.ReadResponse(reader, nil)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			// Closed between two bytes or before the first: the same.
			return nil, io.EOF
		case err != nil:
			return nil, err
		case response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols:
			return response, nil
		}
	}
}

// request returns the bytes of the request.
func (c *Checker) request(target netip.AddrPort) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nAccept: */*\r\nConnection: close\r\n\r\n",
		c.options.Path, cmp.Or(bracketed(c.options.Host), c.authority(target)), userAgent)
}

// what names the request in messages.
func (c *Checker) what(target netip.AddrPort) string {
	what := "GET " + string(c.options.Mode) + "://" + c.authority(target) + c.options.Path
	if c.options.Host != "" {
		what += " (host " + c.options.Host + ")"
	}
	return what
}

// authority returns address and port as they stand in a URL, without the port
// where it is the scheme's own.
func (c *Checker) authority(target netip.AddrPort) string {
	standard := uint16(80)
	if c.options.Mode == HTTPS {
		standard = 443
	}
	if target.Port() != standard {
		return target.String()
	}
	return bracketed(target.Addr().String())
}

// bracketed returns a host as it stands in a URL.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
