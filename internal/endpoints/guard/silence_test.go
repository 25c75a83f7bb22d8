package guard_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// letters are the names of so many backends.
func letters(n int) string { return strings.TrimSpace("a b c d e f g h i j "[:2*n]) }

// ready is what is published when all of these are ready.
func ready(backends string) string {
	return strings.Join(strings.Fields(backends), "=ready ") + "=ready"
}

func TestContract14ProberIsCutOffAboveTheSmallerOfAllButOneAndThePercentage(t *testing.T) {
	// limit is min(N-1, percent of N): up to so many silent endpoints of N count as
	// dead; one more counts as the prober's fault.
	tests := []struct{ n, percent, limit int }{
		{1, 50, 0}, {2, 50, 1}, {3, 50, 1}, {4, 50, 2}, {5, 50, 2}, {10, 50, 5},
		{1, 100, 0}, {2, 100, 1}, {3, 100, 2}, {5, 100, 4},
		{1, 0, 0}, {2, 0, 0}, {5, 0, 0},
		{3, 66, 1}, {3, 67, 2}, {4, 49, 1}, {4, 51, 2}, {10, 99, 9},
	}
	for _, test := range tests {
		all := letters(test.n)
		t.Run(fmt.Sprintf("%d of %d at %d %%", test.limit, test.n, test.percent), func(t *testing.T) {
			l := running(t, all)
			l.policy.MaxSilentPercent = test.percent
			for range 4 {
				l.silence(letters(test.limit))
			}
			l.want(strings.Replace(ready(all), "ready", "down", test.limit))
			l.wantMode("Publish")
		})
		t.Run(fmt.Sprintf("%d of %d at %d %%", test.limit+1, test.n, test.percent), func(t *testing.T) {
			l := running(t, all)
			l.policy.MaxSilentPercent = test.percent
			for range 4 {
				l.silence(letters(test.limit + 1))
			}
			l.want(ready(all))
			l.wantMode("Hold ProbesSilent")
			l.wantReason("a", inventory.ReadyHeld, fmt.Sprintf("%d of %d", test.limit+1, test.n), fmt.Sprintf("at most %d may be", test.limit), fmt.Sprintf("HEALTH_CHECK_MAX_SILENT_PERCENT=%d", test.percent))
		})
	}
}

func TestContract14SilenceThatLastsTakesNoEndpointDown(t *testing.T) {
	l := running(t, "a b c d")
	for range 200 {
		l.silence("a b c d")
		l.now = l.now.Add(2 * time.Second)
	}
	l.want("a=ready b=ready c=ready d=ready")
	l.wantMode("Hold ProbesSilent")
}

func TestContract14CountsMembersBelowFallToo(t *testing.T) {
	l := running(t, "a b c d e")
	l.silence("a b c")
	l.wantMode("Publish")
	l.wantReason("a", inventory.ReadyFailing, "HEALTH_CHECK_FALL=3")
	l.silence("a a a a")
	l.want("a=ready b=ready c=ready d=ready e=ready")
	l.wantMode("Hold ProbesSilent")
}

func TestContract14MembersThatSilenceDemotedWithinFallIntervalsComeBack(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		do    func(l *lab)
		want  string
	}{
		{"at once", 0, func(*lab) {}, "a=ready b=ready c=ready d=ready"},
		{"at FALL intervals", 6 * time.Second, func(*lab) {}, "a=ready b=ready c=ready d=ready"},
		{"not later", 6*time.Second + 1, func(*lab) {}, "a=down b=ready c=ready d=ready"},
		{"not after a refusal", 0, func(l *lab) { l.refuse("a") }, "a=down b=ready c=ready d=ready"},
		{"but after a first pass", 0, func(l *lab) { l.pass("a"); l.silence("d") }, "a=ready b=ready c=ready d=ready"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := running(t, "a b c d")
			l.silence("a a a")
			l.want("a=down b=ready c=ready d=ready")
			l.wait(test.after)
			test.do(l)
			l.silence("b c")
			l.want(test.want)
		})
	}
}

func TestContract14NoEndpointComesBackWithoutACutOff(t *testing.T) {
	l := running(t, "a b c d")
	l.silence("a a a")
	l.pass("a")
	l.want("a=down b=ready c=ready d=ready")
}

func TestContract14MembersThatRefusalDemotedStayDown(t *testing.T) {
	l := running(t, "a b c d")
	l.silence("a a")
	l.refuse("a")
	l.silence("a b c d")
	l.want("a=down b=ready c=ready d=ready")
	l.refuse("b")
	l.refuse("b b b")
	l.want("a=down b=down c=ready d=ready")
}

func TestContract14RefusalsDemoteWhileTheProberSeemsCutOff(t *testing.T) {
	l := running(t, "a b c d e")
	l.silence("a b c a b c a b c")
	l.refuse("d d d")
	l.want("a=ready b=ready c=ready d=down e=ready")
}

func TestContract14SilenceWhileCutOffIsForgivenAfterwards(t *testing.T) {
	l := running(t, "a b c d")
	l.silence("a b c d a b c d a b c d a b c d")
	l.pass("b c d")
	l.want("a=ready b=ready c=ready d=ready")
	l.wait(6 * time.Second)
	l.wantMode("Publish")
	t.Run("a check in flight takes no endpoint down", func(t *testing.T) {
		l := *l
		l.TB = t
		l.silence("a")
		l.want("a=ready b=ready c=ready d=ready")
		l.wantReason("a", inventory.ReadyFailing, "failure 1 of HEALTH_CHECK_FALL=3")
	})
	t.Run("FALL fresh failures do", func(t *testing.T) {
		l := *l
		l.TB = t
		l.silence("a a")
		l.want("a=ready b=ready c=ready d=ready")
		l.silence("a")
		l.want("a=down b=ready c=ready d=ready")
	})
	t.Run("and what was forgiven once does not lower later counts", func(t *testing.T) {
		l := *l
		l.TB = t
		l.pass("a")
		l.refuse("a a")
		l.want("a=ready b=ready c=ready d=ready")
		l.refuse("a")
		l.want("a=down b=ready c=ready d=ready")
	})
}

func TestContract14DownMembersCountAmongThePresent(t *testing.T) {
	l := running(t, "a b c d")
	l.refuse("a a a")
	l.silence("b b b")
	l.want("a=down b=down c=ready d=ready")
	l.silence("c c c")
	l.want("a=down b=down c=down d=ready")
}

func TestContract14LeavingAndMissingMembersDoNotCount(t *testing.T) {
	l := running(t, "a b c d e")
	l.read("a! b! c d e")
	l.silence("a b a b a b")
	l.silence("c")
	l.want("c=ready d=ready e=ready")
	l.silence("c c")
	l.want("c=down d=ready e=ready")
}

func TestContract14NewInstallThatIsPublishedDownIsNotBroughtUpBySilence(t *testing.T) {
	l := newLab(t)
	l.policy.FailOpen = false
	l.read("a b")
	l.silence("a b a b a b")
	l.want("a=down b=down")
	l.silence("a b a b")
	l.want("a=down b=down")
}

// TestContract14CutOffAtARandomPhase plays a prober that loses every path at once.
// The endpoints turn silent in any order and at any pace, as urgent probes and jitter
// make them, and come back in any order.
func TestContract14CutOffAtARandomPhase(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 14))
		n := 1 + random.IntN(8)
		limit := min(n-1, n/2)
		l := running(t, letters(n))
		cutOff := 0
		silent := map[string]bool{}
		for len(silent) < n || cutOff < 5*n {
			name := string(rune('a' + random.IntN(n)))
			silent[name] = true
			cutOff++
			l.now = l.now.Add(time.Duration(random.IntN(int(6*time.Second) / (20 * n))))
			l.silence(name)
			if down := strings.Count(l.states(), "down"); down > limit {
				t.Fatalf("seed %d: got %d of %d members down, want at most %d", seed, down, n, limit)
			}
			if len(silent) > limit {
				l.want(ready(letters(n)))
			}
		}
		for _, i := range random.Perm(n) {
			name := string(rune('a' + i))
			l.silence(name) // its last probe before the cut-off ended was in flight
			l.pass(name)
			l.want(ready(letters(n)))
		}
		l.wantMode("Publish")
	}
}

// Six of ten checks that are lost at random are not six of ten at each moment.
func TestContract14SilenceCountsForFallIntervals(t *testing.T) {
	l := running(t, "a b c d")
	l.silence("a b c")
	l.pass("b c")
	l.silence("a a a")
	l.want("a=ready b=ready c=ready d=ready")
	l.wantMode("Hold ProbesSilent")
	if got, want := l.verdict.Next.Sub(l.now), 6*time.Second; got > want || got <= 0 {
		t.Errorf("got the next decision in %s, want it when b and c count no more, within %s", got, want)
	}
	l.wait(6 * time.Second)
	l.want("a=ready b=ready c=ready d=ready")
	l.wantMode("Publish")
	l.silence("a a a")
	l.want("a=down b=ready c=ready d=ready")
}
