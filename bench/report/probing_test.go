package main // a program has no tests from outside

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// probedBy is what a run of probing could print of one case.
func probedBy(side probing.Side, n int, slow probing.Slow, cores string) string {
	return "Benchmark" + probing.Name(side, probing.HTTP, n, slow) + " 1 " + cores + " cores 9e+07 ns/1000-probes 100 percent-of-probes " +
		"3e+07 resident-bytes 0 time-wait/1000-probes 0.08 variation 4e+05 off-median-ns 2e+06 off-p99-ns 1 overruns 50 bin00 49 bin01\n"
}

func presentedProbing(t *testing.T, cores string) part {
	t.Helper()
	r, err := parse("blackbox: v0.28.0\n" + probedBy(probing.Daemon, 100, probing.Nothing, "0.01") +
		probedBy(probing.Daemon, 1_000, probing.Nothing, cores) + probedBy(probing.Blackbox, 1_000, probing.Nothing, "0.4") +
		probedBy(probing.Daemon, 1_000, probing.Late, "0.05"))
	if err != nil {
		t.Fatal(err)
	}
	return presentProbing(r)
}

func TestProbingMeetsItsTargetUpToAQuarterOfACore(t *testing.T) {
	for cores, want := range map[string]bool{"0.05": true, "0.25": true, "0.26": false} {
		if got := presentedProbing(t, cores).targets[0]; got.met != want {
			t.Errorf("%s cores: got met %t, want %t", cores, got.met, want)
		}
	}
}

func TestTheSectionOnProbingHasARowForEachCaseThatWasMeasured(t *testing.T) {
	p := presentedProbing(t, "0.05")
	for _, want := range []string{
		"blackbox_exporter v0.28.0",
		"| 1,000 | http | daemon | 0.050 | 90 µs | 100 % | 30 MB | 0 | 0.08 | 400 µs | 2 ms |",
		"| 1,000 | http | blackbox | 0.400 |",
		"| 1,000 | http | daemon | late | 0.050 | 100 % | 400 µs | 2 ms | 1 |",
	} {
		if !strings.Contains(p.prose, want) {
			t.Errorf("got no %q in\n%s", want, p.prose)
		}
	}
	for _, wrong := range []string{"%!", "NaN", "| tcp |"} {
		if strings.Contains(p.prose, wrong) {
			t.Errorf("got %q in\n%s", wrong, p.prose)
		}
	}
}

func TestTheSectionOnProbingComparesTheDaemonWithItselfHoldingConnections(t *testing.T) {
	line := func(side probing.Side, descriptors string) string {
		return "Benchmark" + probing.Name(side, probing.TCP, 1_000, probing.Nothing) + " 1 0.05 cores 9e+07 ns/1000-probes 100 percent-of-probes " +
			"3e+07 resident-bytes 0 time-wait/1000-probes 0.08 variation 4e+05 off-median-ns 2e+06 off-p99-ns " + descriptors + " descriptors 4e+06 socket-bytes 1 overruns\n"
	}
	r, err := parse("blackbox: v0.28.0\n" + line(probing.Daemon, "20") + line(probing.Holding, "1020"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 1,000 | daemon | 0.050 | 20 | 30 MB | 4 MB |", "| 1,000 | holding | 0.050 | 1,020 | 30 MB | 4 MB |"} {
		if p := presentProbing(r); !strings.Contains(p.prose, want) {
			t.Errorf("got no %q in\n%s", want, p.prose)
		}
	}
}

func TestTheSectionOnProbingComparesTheTimesBetweenKeepAlives(t *testing.T) {
	raw := "blackbox: v0.28.0\n"
	for every, sent := range map[time.Duration]string{0: "0", 15 * time.Second: "666.667"} {
		raw += "Benchmark" + probing.HolderName(10_000, every) + " 1 1e-06 cores " + sent + " keep-alives/s 6e+07 resident-bytes 10009 descriptors 3.7e+07 socket-bytes 4652 ns/keep-alive\n"
	}
	r, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| none | 0 | 0.0000 |", "| every 15s | 667 | 0.0031 | 0.0000 | 10,009 | 60 MB | 37 MB |", "to each of 10,000 backends", "that times 4.65 µs"} {
		if p := presentProbing(r); !strings.Contains(p.prose, want) {
			t.Errorf("got no %q in\n%s", want, p.prose)
		}
	}
}
