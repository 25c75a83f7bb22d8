package guard_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// film records the mode after every decision, each change once.
type film struct {
	*lab
	modes []string
}

func (f *film) take(do func(l *lab)) {
	do(f.lab)
	if mode := f.mode(); len(f.modes) == 0 || f.modes[len(f.modes)-1] != mode {
		f.modes = append(f.modes, mode)
	}
}

// rounds delivers so many rounds of results, each with a decision of its own:
// "a- b+ c?" means that a refuses, b passes and c is silent.
func (f *film) rounds(times int, script string) {
	f.Helper()
	for range times {
		for _, word := range strings.Fields(script) {
			name, outcome := word[:1], word[1:]
			f.take(func(l *lab) {
				switch outcome {
				case "+":
					l.pass(name)
				case "-":
					l.refuse(name)
				case "?":
					l.silence(name)
				}
			})
		}
		f.take(func(l *lab) { l.wait(2 * time.Second) })
	}
}

func TestContract16EachEpisodeIsEnteredAndLeftOnce(t *testing.T) {
	tests := []struct {
		name    string
		episode func(f *film)
		want    []string
	}{
		{"the source forgets all, for a while", func(f *film) {
			for range 5 {
				f.take(func(l *lab) { l.read("") })
				f.rounds(5, "a+ b+ c+ d+")
			}
			f.take(func(l *lab) { l.read("a b c d") })
		}, []string{"Publish", "Hold NoNodes", "Publish"}},
		{"the source forgets all, for good", func(f *film) {
			for range 12 {
				f.take(func(l *lab) { l.read("") })
				f.rounds(15, "a+ b+ c+ d+")
			}
		}, []string{"Publish", "Hold NoNodes"}},
		{"all are replaced and the old ones die", func(f *film) {
			f.take(func(l *lab) { l.read("w x y z") })
			for range 10 {
				f.rounds(15, "w+ x+ y+ z+ a- b? c- d?")
				f.take(func(l *lab) { l.read("w x y z") })
			}
		}, []string{"Publish", "Hold TooManyRemovals", "Publish"}},
		{"the prober is cut off", func(f *film) {
			f.rounds(20, "a? b? c? d?")
			f.rounds(5, "a+ b? c? d?")
			f.rounds(5, "a+ b+ c+ d+")
		}, []string{"Publish", "Hold ProbesSilent", "Publish"}},
		{"two of three were only dead", func(f *film) {
			f.take(func(l *lab) { l.read("a b c") })
			f.rounds(20, "a+ b? c?")
			f.rounds(20, "a+ b+ c?")
		}, []string{"Publish", "Hold ProbesSilent", "Publish"}},
		{"everything refuses", func(f *film) {
			f.rounds(20, "a- b- c- d-")
			f.rounds(20, "a- b+ c- d-")
		}, []string{"Publish", "FailOpen NothingPasses", "Publish"}},
		{"everything refuses after a restart", func(f *film) {
			f.restart("a=ready b=ready c=ready")
			f.take(func(l *lab) { l.read("a b c") })
			f.rounds(20, "a- b- c-")
			f.rounds(20, "a- b+ c-")
		}, []string{"Publish", "FailOpen NothingPasses", "Publish"}},
		{"nothing at all is heard after a restart", func(f *film) {
			f.restart("a=ready b=ready c=ready")
			f.rounds(20, "a? b? c?")
			f.rounds(20, "a+ b? c?")
			f.rounds(20, "a+ b+ c+")
		}, []string{"Publish", "FailOpen NothingPasses", "Hold ProbesSilent", "Publish"}},
		{"one dies", func(f *film) { f.rounds(20, "a- b+ c+ d+") }, []string{"Publish"}},
		{"one flaps", func(f *film) {
			for range 10 {
				f.rounds(2, "a? b+ c+ d+")
				f.rounds(1, "a+ b+ c+ d+")
			}
		}, []string{"Publish"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &film{lab: running(t, "a b c d"), modes: []string{"Publish"}}
			test.episode(f)
			if !slices.Equal(f.modes, test.want) {
				t.Errorf("got modes %q, want %q", f.modes, test.want)
			}
		})
	}
}

func TestContract16TheSevererModeIsShown(t *testing.T) {
	l := running(t, "a b c d A B C")
	l.read("a b c d A B C")
	l.refuse("A B C A B C A B C")
	l.wantMode("FailOpen NothingPasses")
	l.read("a A B C")
	l.wantMode("FailOpen NothingPasses")
	l.pass("A A")
	l.wantMode("Hold TooManyRemovals")
	l.read("a")
	l.wantMode("Hold TooManyRemovals")
}

func TestContract16HoldEndsWithTheLastEndpointThatIsKept(t *testing.T) {
	l := running(t, "a b c d")
	l.read("d")
	l.refuse("a a a b b b c c")
	l.wantMode("Hold TooManyRemovals")
	l.refuse("c")
	l.want("a=down b=down c=down d=ready")
	l.reads(9, "d")
	l.wantMode("Hold TooManyRemovals")
	l.read("d")
	l.want("d=ready")
	l.wantMode("Publish")
}

func TestModesHaveTheirNames(t *testing.T) {
	got := []string{guard.Publish.String(), guard.Hold.String(), guard.FailOpen.String()}
	if want := []string{"Publish", "Hold", "FailOpen"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFamiliesAreJudgedApart(t *testing.T) {
	const all = "a b c d A B C"
	t.Run("a daemon without IPv6 keeps the IPv6 members", func(t *testing.T) {
		l := running(t, all)
		l.silence("A B C A B C A B C")
		l.want("a=ready b=ready c=ready d=ready A=ready B=ready C=ready")
		l.wantMode("Hold ProbesSilent")
		l.silence("a a a")
		l.want("a=down b=ready c=ready d=ready A=ready B=ready C=ready")
	})
	t.Run("an inventory without IPv6 addresses is rejected for IPv6 alone", func(t *testing.T) {
		l := running(t, all)
		l.read("b c d")
		l.want("a=draining b=ready c=ready d=ready A=ready B=ready C=ready")
		l.wantMode("Hold NothingPassesFilter")
		if !strings.Contains(l.verdict.Message, "no IPv6 address of the 3 nodes") {
			t.Errorf("got message %q", l.verdict.Message)
		}
	})
	t.Run("but one that contradicts itself is rejected as a whole", func(t *testing.T) {
		l := running(t, all)
		l.duplicate("a b c d A B")
		l.want("a=ready b=ready c=ready d=ready A=ready B=ready C=ready")
		l.wantMode("Hold ContradictoryRead")
	})
	t.Run("members of one family do not widen the limit of the other", func(t *testing.T) {
		l := running(t, all)
		l.read("a b c d A")
		l.want("a=ready b=ready c=ready d=ready A=ready B=ready C=ready")
		l.wantMode("Hold TooManyRemovals")
	})
	t.Run("one family fails open alone", func(t *testing.T) {
		l := running(t, all)
		l.refuse("A B C A B C A B C a a a")
		l.want("a=down b=ready c=ready d=ready A=ready B=ready C=ready")
		l.wantMode("FailOpen NothingPasses")
	})
	t.Run("a pass over IPv4 proves nothing over IPv6", func(t *testing.T) {
		l := restarted(t, "a=ready b=ready A=ready B=ready")
		l.pass("a b")
		l.refuse("A A A A A")
		l.want("a=ready b=ready A=ready B=ready")
	})
	t.Run("the first drain of both is what comes next", func(t *testing.T) {
		l := running(t, all)
		l.read("a b c d A B")
		want := l.now.Add(30 * time.Second)
		l.wait(time.Second)
		l.read("b c d A B")
		if got := l.verdict.Next; !got.Equal(want) {
			t.Errorf("got next %s, want %s", got, want)
		}
	})
}
