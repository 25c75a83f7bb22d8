package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// drainPeriod is DRAIN_PERIOD here.
const drainPeriod = 5 * time.Second

// setting is one environment variable of the daemon and why it has its value.
type setting struct{ name, value, why string }

// settingsFor returns the daemon's whole environment. What the shell of the
// user holds is left out: it may be meant for a real cluster.
func settingsFor(inventoryPath string, port uint16) []setting {
	return []setting{
		{"SOURCE_KIND", "file", "the inventory of the remote cluster is a file"},
		{"INVENTORY_FILE_PATH", inventoryPath, "this one"},
		{"STORE_KIND", "memory", "the slices are printed; no cluster is touched"},
		{"TARGET_SERVICE_NAME", "web", "the Service to fill"},
		{"TARGET_PORT", strconv.Itoa(int(port)), "the port that the nodes listen on"},
		{"SECURED_SUBNET_CIDR", "127.0.0.0/8", "the addresses that may be published; loopback is allowed only with the memory store"},
		{"HEALTH_CHECK_MODE", "http", "not tcp, so that an error status counts"},
		{"SOURCE_POLL_INTERVAL", "1s", "not 30s, so you need not wait"},
		{"DRAIN_PERIOD", drainPeriod.String(), "not 30s, for the same reason"},
		{"ADMIN_ADDRESS", "127.0.0.1:0", "the status page, at a free port; the daemon logs which"},
		{"METRICS_ADDRESS", "127.0.0.1:0", "the same for its metrics and health endpoints"},
	}
}

// line is one line that the daemon logged, and when it came.
type line struct {
	at   time.Time
	text string
}

// daemon is the running daemon.
type daemon struct {
	process *exec.Cmd
	// output is the file that the daemon's standard output goes to. It is a file and
	// not a pipe: what the daemon printed before a log line is there when the line
	// is.
	output string
	// news receives a value when there are lines that were not taken yet.
	news chan struct{}
	// ended is closed when the process has ended; err is how.
	ended chan struct{}
	err   error
	// once, because the second SIGTERM ends the daemon the hard way.
	once sync.Once

	mu    sync.Mutex
	lines []line
}

// startDaemon runs the program with the settings as its only environment. When ctx
// ends it asks the program to stop in order, as Kubernetes does.
func startDaemon(ctx context.Context, program string, settings []setting, output string) (*daemon, error) {
	d := &daemon{output: output, news: make(chan struct{}, 1), ended: make(chan struct{})}
	d.process = exec.CommandContext(ctx, program, "run")
	d.process.Env = []string{}
	for _, s := range settings {
		d.process.Env = append(d.process.Env, s.name+"="+s.value)
	}
	d.process.SysProcAttr = apart()
	d.process.Cancel = d.terminate
	d.process.WaitDelay = stopTime
	stdout, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	d.process.Stdout = stdout
	stderr, err := d.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.process.Start(); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	go d.listen(stderr) // stop waits for it
	return d, nil
}

// stopTime is what the daemon may take to stop (contract 30).
const stopTime = 10 * time.Second

// longestLine bounds a log line; a longer one would end the listening.
const longestLine = 1 << 20

// listen keeps the lines until the process ends.
func (d *daemon) listen(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		d.mu.Lock()
		d.lines = append(d.lines, line{time.Now(), lines.Text()})
		d.mu.Unlock()
		select {
		case d.news <- struct{}{}:
		default:
		}
	}
	d.err = d.process.Wait()
	close(d.ended)
}

// since returns the lines from the given one on.
func (d *daemon) since(first int) []line {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lines[first:len(d.lines):len(d.lines)]
}

// terminate asks the daemon to stop, once.
func (d *daemon) terminate() (err error) {
	d.once.Do(func() { err = d.process.Process.Signal(syscall.SIGTERM) })
	return err
}

// apart keeps a Ctrl-C at the terminal from a child: the demo gets it, and stops
// the children in order.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// stop ends the daemon, if it still runs, and returns when it has ended.
func (d *daemon) stop() {
	_ = d.terminate() // it may have ended before
	stopTimer := time.NewTimer(stopTime)
	defer stopTimer.Stop()
	select {
	case <-d.ended:
	case <-stopTimer.C:
		_ = d.process.Process.Kill()
		<-d.ended
	}
}
