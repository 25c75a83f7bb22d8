package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Some promises are about a whole process: it has no descriptors left, is stopped, or
// has certain variables in its environment. For such a promise the test binary runs
// once more, in a role that this variable names with its arguments.
const roleVariable = "PROBE_TEST_ROLE"

// playRole runs in the child process.
func playRole(role string) {
	name, argument, _ := strings.Cut(role, " ")
	switch name {
	case "check":
		checkRole(argument)
	case "exhausted":
		exhaustedRole(argument)
	case "reach":
		reachRole(argument)
	case "loop":
		loopRole()
	}
}

// startRole starts a child process and returns it with the decoder of what it prints.
// A change that is not nil changes the command first.
func startRole(t *testing.T, role string, change func(*exec.Cmd)) (*os.Process, *json.Decoder) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), roleVariable+"="+role)
	command.Stderr = os.Stderr
	if change != nil {
		change(command)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = command.Process.Kill(), command.Wait() })
	return command.Process, json.NewDecoder(output)
}

// next decodes the next value that a child process printed.
func next[T any](t *testing.T, from *json.Decoder) T {
	t.Helper()
	var value T
	if err := from.Decode(&value); err != nil {
		t.Fatalf("the child process printed no more: %v", err)
	}
	return value
}

func printJSON(value any) {
	if err := json.NewEncoder(os.Stdout).Encode(value); err != nil {
		panic(err)
	}
}

// checkTimeout is the time-out of checkRole.
const checkTimeout = 2 * time.Second

// checkRole makes one HTTP check of the address and port.
func checkRole(target string) {
	asked := netip.MustParseAddrPort(target)
	checker := health.New(health.Options{Mode: health.HTTP, Port: asked.Port(), Timeout: checkTimeout, Path: "/", Expected: statuses{200, 399}})
	printJSON(checker.Check(context.Background(), asked.Addr()))
}

// exhaustedRole makes a check before, while and after there is no descriptor.
func exhaustedRole(target string) {
	asked := netip.MustParseAddrPort(target)
	checker := health.New(health.Options{Port: asked.Port(), Timeout: 20 * time.Second})
	printJSON(checker.Check(context.Background(), asked.Addr()))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		panic(err)
	}
	var files []*os.File
	for {
		file, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			panic(err)
		}
		files = append(files, file)
	}
	printJSON(checker.Check(context.Background(), asked.Addr()))
	for _, file := range files {
		_ = file.Close()
	}
	printJSON(checker.Check(context.Background(), asked.Addr()))
}

// The loop of loopRole.
const (
	loopInterval  = 500 * time.Millisecond
	loopAddresses = 100
)

// loopRole runs a loop, says when it has checked every address twice, and, when
// it was stopped for longer than two intervals, how many checks it started within
// half an interval after it went on.
func loopRole() {
	var (
		mu     sync.Mutex
		starts []time.Time
	)
	loop := health.NewLoop(health.LoopOptions{
		Interval: loopInterval,
		Check: func(context.Context, netip.Addr) inventory.Result {
			mu.Lock()
			defer mu.Unlock()
			starts = append(starts, time.Now())
			return inventory.Result{Outcome: inventory.Pass}
		},
	})
	var targets []inventory.Watch
	for address := loopback; len(targets) < loopAddresses; address = address.Next() {
		targets = append(targets, inventory.Watch{Address: address})
	}
	loop.Watch(targets)
	go loop.Run(context.Background())
	told := false
	for range loop.Ready() {
		loop.Take()
		mu.Lock()
		if len(starts) >= 2*loopAddresses && !told {
			told = true
			printJSON("running")
		}
		burst, over := afterTheGap(starts)
		mu.Unlock()
		if over {
			printJSON(burst)
			return
		}
	}
}

// afterTheGap finds two starts that are more than two intervals apart, and counts the
// starts in the half interval that follows. It reports whether that half is over.
func afterTheGap(starts []time.Time) (count int, over bool) {
	for i := 1; i < len(starts); i++ {
		if starts[i].Sub(starts[i-1]) < 2*loopInterval {
			continue
		}
		for _, at := range starts[i:] {
			if at.Sub(starts[i]) > loopInterval/2 {
				return count, true
			}
			count++
		}
	}
	return count, false
}

func TestContract09NoDescriptorsIsALocalError(t *testing.T) {
	port := backend(t, loopback, hang)
	_, results := startRole(t, "exhausted "+netip.AddrPortFrom(loopback, port).String(), nil)
	var got []inventory.Outcome
	for range 3 {
		got = append(got, next[inventory.Result](t, results).Outcome)
	}
	if want := []inventory.Outcome{inventory.Pass, inventory.LocalError, inventory.Pass}; !slices.Equal(got, want) {
		t.Errorf("before, while and after there are no descriptors: got %v, want %v", got, want)
	}
}

// stopThem stops processes for the time that is tested, and calls then as soon as
// they are stopped.
func stopThem(t *testing.T, while time.Duration, then func(), processes ...*os.Process) {
	t.Helper()
	for _, process := range processes {
		if err := process.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		eventually(t, "running processes", 0, func() int { return running(t, process) })
	}
	then()
	time.Sleep(while)
	for _, process := range processes {
		if err := process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// running is 0 for a process that is stopped, else 1.
func running(t *testing.T, process *os.Process) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.Pid))
	if err != nil {
		lacking(t, "no state of processes: "+err.Error())
	}
	if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "T") {
		return 0
	}
	return 1
}

func TestContract32ACheckOfAStoppedProcessCountsForNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*net.TCPConn){
		"silent meanwhile":   hang,
		"reset meanwhile":    func(conn *net.TCPConn) { _ = conn.SetLinger(0) },
		"answered meanwhile": answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
	}
	inFlight, stopped := make(chan struct{}), make(chan struct{})
	var processes []*os.Process
	results := map[string]*json.Decoder{}
	for name, serve := range tests {
		port := backend(t, loopback, func(conn *net.TCPConn) {
			inFlight <- struct{}{}
			<-stopped
			serve(conn)
		})
		process, printed := startRole(t, "check "+netip.AddrPortFrom(loopback, port).String(), nil)
		processes, results[name] = append(processes, process), printed
		<-inFlight
	}
	stopThem(t, 2*checkTimeout, func() { close(stopped) }, processes...)
	for name, printed := range results {
		got := next[inventory.Result](t, printed)
		if got.Outcome != inventory.LocalError || got.Reason != "" || !strings.Contains(got.Message, "was stopped or starved") {
			t.Errorf("%s: got %s %q (%s), want a LocalError that says why", name, got.Outcome, got.Reason, got.Message)
		}
	}
}

func TestContract32AStoppedLoopDoesNotCatchUp(t *testing.T) {
	t.Parallel()
	process, printed := startRole(t, "loop", nil)
	next[string](t, printed)
	stopThem(t, 3*loopInterval, func() {}, process)
	// Evenly spread it is half of them; a burst would be all and that half.
	if got := next[int](t, printed); got > loopAddresses*3/4 {
		t.Errorf("got %d checks in the half interval after the stop, want about %d", got, loopAddresses/2)
	}
}
