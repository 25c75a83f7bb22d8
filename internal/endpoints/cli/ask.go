package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

const (
	// askTimeout is how long the daemon may take to answer.
	askTimeout = 3 * time.Second
	// mostAnswer bounds its answer; one of 5,000 nodes has 5 MB at the most.
	mostAnswer = 16 << 20
	// mostMessage bounds what the daemon says instead of an answer.
	mostMessage = 4 << 10
	// noPage is what net/http answers where a path is not known.
	noPage = "404 page not found"
)

// shown is what there is to show, and where it comes from: the document of one Service, or
// pools and Services.
type shown struct {
	document *report.Document
	targets  *report.Services
	// raw is the document as the daemon wrote it, with fields that only a newer
	// one knows; nil where there was no daemon to ask.
	raw json.RawMessage
}

// adminURL is where the daemon of this configuration answers. One that listens
// on every address is asked on the machine itself.
func adminURL(listening netip.AddrPort) string {
	addr := listening.Addr()
	switch {
	case addr == netip.IPv6Unspecified():
		addr = netip.IPv6Loopback()
	case addr.IsUnspecified():
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "http://" + netip.AddrPortFrom(addr, listening.Port()).String()
}

// errNoPort says that the daemon cannot be asked.
var errNoPort = errors.New("ADMIN_ADDRESS has port 0, so only its log says where it listens")

// ofThisVersion returns an error where an answer does not have the form that this program
// knows.
func ofThisVersion(text []byte) error {
	var form struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(text, &form); err != nil || form.APIVersion != report.APIVersion {
		return fmt.Errorf("the answer is not from a daemon of this version (apiVersion %q, want %q); where an update goes on, wait for its end", form.APIVersion, report.APIVersion)
	}
	return nil
}

// get fetches a bounded answer, without proxy or redirect: no other server can answer in the
// place of the one that is asked. An identity names the process that should answer.
func get(ctx context.Context, url, identity string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if identity != "" {
		request.Header.Set("Authorization", "Bearer "+identity)
	}
	request.Header.Set("Accept", "application/json")
	client := http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		// Of a path that the daemon does not know it says only that.
		if text, err := io.ReadAll(io.LimitReader(response.Body, mostMessage)); err == nil && strings.TrimSpace(string(text)) != noPage {
			return nil, &report.NoService{Message: strings.TrimSpace(string(text))}
		}
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	if err == nil && len(text) > mostAnswer {
		err = fmt.Errorf("the answer is longer than %d MiB", mostAnswer>>20)
	}
	return text, err
}

// brief removes from an error what the message around it says already.
func brief(err error, timeout time.Duration) error {
	var operation *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nothing listens there")
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s", timeout)
	case errors.As(err, &operation):
		return operation.Err
	}
	return err
}
