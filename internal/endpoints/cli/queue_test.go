package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

// stuck is a log that is not read until the test releases it.
type stuck struct {
	free chan struct{}
	buffer
}

func (s *stuck) Write(line []byte) (int, error) {
	<-s.free
	return s.buffer.Write(line)
}

// TestContract30ALogThatIsNotReadDelaysTheEndByAMomentOnly: the log and the last
// error do not block the program.
func TestContract30ALogThatIsNotReadDelaysTheEndByAMomentOnly(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{"the daemon": base, "a wrong variable": {"TARGET_PORT=0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &stuck{free: make(chan struct{})}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			ended := make(chan int, 1)
			go func() {
				p := cli.Program{Version: "v1.2.3", Environ: environ, Stdout: io.Discard, Stderr: log}
				ended <- p.Run(ctx, []string{"run"})
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Error("it does not end")
			}
			close(log.free)
		})
	}
}

// TestContract31ALogThatIsNotReadStopsNothing: the slices are printed although the
// log is not read. When the log is read again, it reports what it lost.
func TestContract31ALogThatIsNotReadStopsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.json")
	list := func(workers, others int) {
		t.Helper()
		var records []string
		for i := range workers + others {
			address := fmt.Sprintf("127.0.0.%d", 11+i)
			if i >= workers {
				address = fmt.Sprintf("192.168.%d.%d", i/250, i%250+1)
			}
			records = append(records, fmt.Sprintf(`{"name": "n%d", "private_ip": "%s", "ready": true, "worker": true}`, i, address))
		}
		if err := os.WriteFile(path+".next", []byte("["+strings.Join(records, ",")+"]"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".next", path); err != nil {
			t.Fatal(err)
		}
	}
	list(1, 5000) // a line for each, and more than can wait
	environ := append([]string{"SOURCE_KIND=file", "INVENTORY_FILE_PATH=" + path, "SOURCE_POLL_INTERVAL=200ms", "LOG_LEVEL=debug"}, base[2:]...)
	var out buffer
	log := &stuck{free: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		p := cli.Program{Version: "v1.2.3", Environ: environ, Stdout: &out, Stderr: log}
		ended <- p.Run(ctx, []string{"run"})
	}()
	await := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !ok(); <-time.After(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	await("no slice is printed", func() bool { return strings.Contains(out.String(), "127.0.0.11") })
	list(2, 5000)
	await("no other slice is printed", func() bool { return strings.Contains(out.String(), "127.0.0.12") })
	close(log.free)
	await("nothing is logged", func() bool { return strings.Contains(log.String(), "decision changed") })
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
	for _, want := range []string{`"starting"`, "lines of the log are lost, because they were not read in time", "stopped, the slices are left as they are"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("got no %q in the log", want)
		}
	}
	if got := strings.Count(log.String(), "decision changed"); got >= 5000 {
		t.Errorf("got %d lines, want some of them lost", got)
	}
}
