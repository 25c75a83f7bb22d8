//go:build simulation

package simulation_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
)

// child is set in the environment of the processes that inProcesses starts.
const child = "SIMULATION_CHILD"

// inProcesses simulates the seeds in as many processes as there are CPUs, so many
// in each, and says how far it is.
func inProcesses(t *testing.T, from, count, share uint64) {
	t.Helper()
	if os.Getenv(child) != "" {
		weather(t, from, count)
		return
	}
	var work sync.WaitGroup
	shares := make(chan uint64)
	for range runtime.NumCPU() {
		work.Go(func() {
			for begin := range shares {
				spawn(t, begin, min(share, from+count-begin))
			}
		})
	}
	for begin := from; begin < from+count; begin += share {
		shares <- begin
		fmt.Printf("%s: %d of %d seeds begun\n", *storming, min(begin+share, from+count)-from, count)
	}
	close(shares)
	work.Wait()
}

// spawn simulates seeds in a process of their own.
func spawn(t *testing.T, first, count uint64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStorm", "-test.timeout=0",
		fmt.Sprint("-first=", first), fmt.Sprint("-seeds=", count), fmt.Sprint("-storm=", *storming),
		fmt.Sprint("-lines=", *lines), fmt.Sprint("-counts=", *verbose), fmt.Sprint("-test.v=", *verbose))
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("seeds %d to %d: %s\n%s", first, first+count-1, err, out)
	} else if *verbose {
		t.Logf("%s", out)
	}
}
