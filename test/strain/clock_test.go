package strain_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/strain"
)

// clockProgram prints the time when it is asked, and how much of it has passed since
// it started.
const clockProgram = `package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	start := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		now := time.Now()
		fmt.Println(now.UnixNano(), int64(now.Sub(start)))
	}
}
`

func TestASteppedClockMovesTheTimeOfDayAndNothingElse(t *testing.T) {
	source := t.TempDir() + "/main.go"
	if err := os.WriteFile(source, []byte(clockProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	clock := strain.NewClock(t)
	program := exec.CommandContext(t.Context(), strain.SteppedBuild(t, source))
	program.Env = append(os.Environ(), clock.Environment())
	ask, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	tell, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []time.Duration{0, 7 * time.Hour, -3*time.Hour - time.Nanosecond, 999999999, -999999999, 0} {
		clock.Set(ahead)
		before := time.Now()
		fmt.Fprintln(ask, "?")
		var wall, passed int64
		if _, err := fmt.Fscan(tell, &wall, &passed); err != nil {
			t.Fatal(err)
		}
		after := time.Now()
		told := time.Unix(0, wall).Add(-ahead)
		if told.Before(before.Round(0)) || told.After(after.Round(0)) {
			t.Errorf("%v ahead: told %v, want between %v and %v", ahead, told, before, after)
		}
		if passed < 0 || passed > int64(after.Sub(began)) {
			t.Errorf("%v ahead: %v have passed since the start, want at most %v", ahead, time.Duration(passed), after.Sub(began))
		}
	}
	_ = ask.Close()
	if err := program.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAProgramWithoutAClockTellsTheTrueTime(t *testing.T) {
	source := t.TempDir() + "/main.go"
	if err := os.WriteFile(source, []byte(clockProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), strain.SteppedBuild(t, source))
	program.Stdin = strings.NewReader("?\n")
	before := time.Now()
	output, err := program.Output()
	if err != nil {
		t.Fatal(err)
	}
	var wall, passed int64
	if _, err := fmt.Sscan(string(output), &wall, &passed); err != nil {
		t.Fatal(err)
	}
	if told := time.Unix(0, wall); told.Before(before.Round(0)) || told.After(time.Now().Round(0)) {
		t.Errorf("told %v, want between %v and now", told, before)
	}
}
