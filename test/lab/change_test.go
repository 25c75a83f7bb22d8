//go:build lab

package lab_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// scenario is one target with a story of its own.
type scenario struct {
	name, text string
	options    lab.Options
	// story is what happens under traffic; no client may notice it if bound is not
	// set.
	story func(t *testing.T, w *lab.World, x *lab.Target)
	// bound is how long after the mark "fault" the last lost request may begin.
	bound time.Duration
}

// TestChanges changes the world in every planned way, and ends the daemon in the
// middle of it. The longest scenes begin first.
func TestChanges(t *testing.T) {
	w := lab.Start(t)
	for name, scenes := range map[string]func(*testing.T, *lab.World){"Contract239 two replicas": twoReplicas, "remote kube-proxies": remoteKubeProxies} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenes(t, w)
		})
	}
	tell(t, w, []scenario{
		{name: "pool replaced at once", text: "all workers are new between two reads, the old ones leave after they were announced", story: replacePool, options: lab.Options{Source: "kubernetes"}},
		{name: "pool replaced unannounced", text: "between two reads all workers are others; the old ones run on for a while", story: swapPool},
		{name: "listed before it serves", text: "nodes are ready some seconds before their backends", story: late, options: lab.Options{Source: "kubernetes"}},
		{name: "address reused", text: "a new machine gets the address of one that has just gone", story: reuseAddress, options: lab.Options{Source: "ionos"}},
		{name: "daemon restarted", text: "SIGTERM and a new start every few seconds while every worker is replaced", story: restarted},
		{name: "daemon killed", text: "SIGKILL and a new start every few seconds while every worker is replaced", story: killed, options: lab.Options{Source: "kubernetes"}},
		{name: "daemon upgraded", text: "two replicas with LEADER_ELECTION, replaced one after the other while every worker is replaced", story: upgraded,
			options: lab.Options{Env: map[string]string{"LEADER_ELECTION": "true"}}},
		{name: "leader killed", text: "the leader of two replicas ends by SIGKILL while every worker is replaced", story: leaderKilled,
			options: lab.Options{Env: map[string]string{"LEADER_ELECTION": "true"}}},
		{name: "small slices", text: "a pool of five is replaced at once with MAX_ENDPOINTS_PER_SLICE=2", story: replacePool,
			options: lab.Options{Workers: 5, Env: map[string]string{"MAX_ENDPOINTS_PER_SLICE": "2"}}},
		{name: "kubectl store", text: "every worker is replaced with STORE_KIND=kubectl", story: rotated,
			options: lab.Options{Env: map[string]string{"STORE_KIND": "kubectl"}}},
		{name: "half crash", text: "three of six backends end at once", options: lab.Options{Workers: 6}, bound: oneCrash, story: half((*lab.Worker).Kill)},
		{name: "half silent", text: "three of six machines are switched off at once", options: lab.Options{Workers: 6}, bound: oneSilence, story: half((*lab.Worker).Unplug)},
		{name: "cloud down, a worker dies", text: "the IONOS API fails while a backend ends", story: cloudDown, bound: oneCrash, options: lab.Options{Source: "ionos"}},
	})
}

// tell runs scenarios side by side.
func tell(t *testing.T, w *lab.World, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			x := w.Target(t, s.options)
			x.Begin(200)
			s.story(t, w, x)
			x.End()
			x.Report("changes/"+s.name, s.text, bounded(t, x, s.bound)...)
		})
	}
}

// bounded judges what was lost: nothing, or only within the bound after the mark
// "fault". If requests begin late, the three checks that take a backend down begin
// late too, and the bound grows with them.
func bounded(t *testing.T, x *lab.Target, bound time.Duration) []traffic.Fact {
	t.Helper()
	if bound == 0 {
		x.WantNoneLost()
		return nil
	}
	for _, m := range x.Record().Marks() {
		if m.Text != "fault" {
			continue
		}
		if late := x.Record().Lateness(); late > 50*time.Millisecond {
			t.Logf("99 of 100 requests began at most %v late, so the bound of %v grows by three times that", late, bound)
			bound += 3 * late
		}
		after, _ := x.Record().LastLost(m.At)
		// Requests that were under way lose their backend, too.
		_, lost := x.Record().LastLost(m.At.Add(-traffic.Timeout))
		if before := len(x.Record().Lost()) - lost; after > bound || before > 0 {
			t.Errorf("%s: %d requests are lost long before the fault, and %d by it, the last of them begun %v later, want none and at most %v",
				x.Name, before, lost, after, bound)
			x.WantNoneLost()
		}
		return []traffic.Fact{{Name: "last lost after", Value: after.Round(time.Millisecond).String()}}
	}
	t.Fatal("the scenario has no fault")
	return nil
}

// afterwards is how long the load goes on after the last change: a poll of the source (2 s and
// its jitter), a write, and kube-proxy, which writes its rules once a second.
const afterwards = 6 * time.Second

// replacePool is an upgrade of a whole node pool at once.
func replacePool(_ *testing.T, _ *lab.World, x *lab.Target) {
	old := x.Workers()
	var fresh []*lab.Worker
	for range old {
		fresh = append(fresh, x.AddWorker())
	}
	x.Mark("a new pool joins, the old one is announced to leave")
	x.Join(fresh...)
	x.Leave(old...)
	x.AwaitAnswers(fresh...)
	x.AwaitNoAnswers(old...)
	x.Mark("the old pool is gone")
	for _, w := range old {
		w.Stop()
		w.Remove()
	}
	x.Gone(old...)
	pause(afterwards)
}

// swapPool lists only new workers from one read to the next.
func swapPool(_ *testing.T, _ *lab.World, x *lab.Target) {
	old := x.Workers()
	fresh := []*lab.Worker{x.AddWorker(), x.AddWorker(), x.AddWorker()}
	x.Mark("other workers are listed")
	x.Replace(fresh...)
	x.AwaitAnswers(fresh...)
	// Removals of a rejected inventory wait for EMPTY_RESULT_THRESHOLD reads.
	for _, w := range old {
		x.AwaitState(w, "draining")
	}
	x.AwaitNoAnswers(old...)
	x.Mark("the old ones end")
	for _, w := range old {
		w.Stop()
		w.Remove()
	}
	pause(afterwards)
}

// late is a node that is ready before the Pods on it are.
func late(_ *testing.T, _ *lab.World, x *lab.Target) {
	for _, old := range x.Workers() {
		fresh := x.AddWorker()
		fresh.Say("refuse")
		x.Mark("%s is listed", fresh.Name)
		x.Join(fresh)
		x.Leave(old)
		x.AwaitNoAnswers(old)
		old.Stop()
		old.Remove()
		x.Gone(old)
		x.Mark("%s serves", fresh.Name)
		fresh.Say("ok")
		x.AwaitAnswers(fresh)
	}
}

// reuseAddress gives one address to one worker after the other.
func reuseAddress(t *testing.T, _ *lab.World, x *lab.Target) {
	for range 3 {
		old := x.Workers()[0]
		x.Mark("%s leaves", old.Name)
		x.Leave(old)
		x.AwaitNoAnswers(old)
		old.Stop()
		old.Remove()
		fresh := x.AddWorkerAt(old.Address)
		x.Mark("%s has its address", fresh.Name)
		x.Gone(old)
		listed := time.Now()
		x.Join(fresh)
		x.AwaitAnswers(fresh)
		// A poll, the first passes of a check every 2 s, a write, kube-proxy.
		if took := time.Since(listed); took > 12*time.Second {
			t.Errorf("%s answers %v after it was listed", fresh.Name, took)
		}
	}
}

// meanwhile does something again and again while every worker is replaced.
func meanwhile(t *testing.T, x *lab.Target, again func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		rotate(t, x)
	}()
	const interval = 3700 * time.Millisecond
	every := time.NewTicker(interval)
	defer every.Stop()
	for {
		select {
		case <-done:
			return
		case <-every.C:
			again()
			every.Reset(interval) // what took longer than that is not done twice at once
		}
	}
}

func rotated(t *testing.T, _ *lab.World, x *lab.Target) { rotate(t, x) }

func restarted(t *testing.T, _ *lab.World, x *lab.Target) {
	meanwhile(t, x, func() {
		x.Mark("restart")
		x.Daemon.Stop()
		x.Daemon.Start()
	})
}

func killed(t *testing.T, _ *lab.World, x *lab.Target) {
	meanwhile(t, x, func() {
		x.Mark("kill -9")
		x.Daemon.Kill()
		x.Daemon.Start()
	})
}

// upgraded replaces the older of two replicas, as a Deployment does: the new one is
// ready before the old one gets its signal.
func upgraded(t *testing.T, _ *lab.World, x *lab.Target) {
	older, newer := x.Daemon, x.NewDaemon()
	newer.Start()
	newer.AwaitReady()
	meanwhile(t, x, func() {
		next := x.NewDaemon()
		next.Start()
		next.AwaitReady()
		x.Mark("a replica is replaced")
		older.Stop()
		older, newer = newer, next
	})
}

// leaderKilled kills the leader. The other replica takes over when the lease has run
// out; until then no process writes.
func leaderKilled(t *testing.T, _ *lab.World, x *lab.Target) {
	other := x.NewDaemon()
	other.Start()
	other.AwaitReady()
	for i, old := range x.Workers() {
		if i == 0 {
			x.Mark("the leader is killed")
			x.Daemon.Kill()
			x.Daemon.Start()
		}
		replace(x, old, x.AddWorker())
	}
}
