//go:build lab

package lab_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/strain"
)

// strains kill a worker while the daemon itself is in trouble.
func strains(t *testing.T) []trouble {
	t.Helper()
	disk := strain.NewDisk(t)
	return []trouble{
		{name: "paused", text: "the daemon stands still for 8 s, twice, and a backend ends during the second time", story: paused},
		{name: "paused as leader", text: "the daemon stands still beyond the end of its Lease; a second replica leads meanwhile", story: pausedLeader,
			options: lab.Options{Env: map[string]string{"LEADER_ELECTION": "true"}}},
		{name: "out of descriptors", text: "the daemon can open nothing for 8 s, and a backend ends meanwhile", story: withoutDescriptors},
		{name: "out of descriptors, kubernetes", text: "the same with SOURCE_KIND=kubernetes, and all its connections are cut", behind: true,
			options: lab.Options{Source: "kubernetes"}, story: withoutDescriptorsOrConnections},
		{name: "short of CPU", text: "the daemon has a fiftieth of a CPU, and a backend ends", story: shortOfCPU},
		{name: "full disk", text: "logs go to a full device, files to a full disk, and a backend ends, with STORE_KIND=kubectl", story: fullDisk(disk),
			options: lab.Options{Env: map[string]string{"STORE_KIND": "kubectl"}}},
	}
}

// paused stops the process as a frozen machine does (contract 32).
func paused(s *tale) {
	stand := func(meanwhile func()) {
		s.Mark("the daemon stands still")
		s.Daemon.Signal(syscall.SIGSTOP)
		pause(4 * time.Second)
		meanwhile()
		pause(4 * time.Second)
		s.Daemon.Signal(syscall.SIGCONT)
	}
	stand(func() {})
	pause(3 * time.Second)
	stand(func() { s.kill() })
	s.leaves(s.Mark("the daemon goes on"), refusedBound)
	s.revives()
}

// pausedLeader stops a leader until after the end of its Lease. The other replica
// leads, and the one that continues must not write (contract 29).
func pausedLeader(s *tale) {
	other := s.NewDaemon()
	other.Start()
	s.Mark("the leader stands still")
	s.Daemon.Signal(syscall.SIGSTOP)
	const lease = 20 * time.Second
	died := s.kill()
	s.leaves(died, lease+refusedBound+started)
	s.revives()
	s.Mark("the old leader goes on")
	s.Daemon.Signal(syscall.SIGCONT)
	pause(3 * time.Second)
	s.dies(refusedBound)
}

// withoutDescriptors takes every descriptor that is not in use: probes fail for a
// local reason, which counts for nothing (contract 9).
func withoutDescriptors(s *tale) {
	s.Mark("no descriptors")
	restore := strain.NoDescriptors(s.T, s.Daemon.PID())
	pause(4 * time.Second)
	s.kill()
	pause(4 * time.Second)
	restore()
	s.leaves(s.Mark("descriptors again"), refusedBound)
	s.revives()
}

// withoutDescriptorsOrConnections takes the connections, too: the daemon has no
// inventory, no slices and no probes.
func withoutDescriptorsOrConnections(s *tale) {
	s.Mark("no descriptors, no connections")
	restore := strain.NoDescriptors(s.T, s.Daemon.PID())
	for range 2 {
		s.Local.Refuse()
		s.Remote.Refuse()
		s.Local.Mend()
		s.Remote.Mend()
		pause(2 * time.Second)
	}
	s.kill()
	pause(4 * time.Second)
	restore()
	s.leaves(s.Mark("descriptors again"), storeRecovery)
	s.revives()
}

// shortOfCPU starves the daemon. It needs about a hundredth of a CPU at rest.
func shortOfCPU(s *tale) {
	s.Mark("a fiftieth of a CPU")
	restore := strain.StarveCPU(s.T, s.Daemon.PID(), 0.02)
	pause(6 * time.Second)
	s.dies(10 * time.Second)
	restore()
	s.dies(refusedBound)
}

// fullDisk restarts the daemon so that its writes to disk fail, and lets the full
// disk cut off a new inventory.
func fullDisk(disk *strain.Disk) func(*tale) {
	return func(s *tale) {
		for _, folder := range []string{"home", "tmp"} {
			if err := os.Mkdir(filepath.Join(disk.Path, folder), 0o700); err != nil {
				s.Fatal(err)
			}
		}
		inventory := filepath.Join(disk.Path, "inventory.json")
		text, err := os.ReadFile(s.Daemon.Env["INVENTORY_FILE_PATH"])
		if err == nil {
			err = os.WriteFile(inventory, text, 0o600)
		}
		if err != nil {
			s.Fatal(err)
		}
		script := filepath.Join(disk.Path, "daemon")
		if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+built.Program(s.T)+" >/dev/full 2>&1\n"), 0o700); err != nil {
			s.Fatal(err)
		}
		s.Daemon.Stop()
		s.Daemon.Program = script
		s.Daemon.Env["HOME"], s.Daemon.Env["TMPDIR"] = filepath.Join(disk.Path, "home"), filepath.Join(disk.Path, "tmp")
		s.Daemon.Env["INVENTORY_FILE_PATH"] = inventory
		disk.Fill()
		s.Daemon.Start()
		s.Mark("the disk is full")
		s.Daemon.AwaitReady()
		// Two runs of kubectl besides, on a machine that does other things too.
		s.dies(refusedBound + 4*time.Second)
		s.Mark("the inventory is cut off")
		if err := os.WriteFile(inventory, text[:len(text)/2], 0o600); err != nil {
			s.Fatal(err)
		}
		pause(5 * time.Second)
		if err := os.WriteFile(inventory, nil, 0o600); err != nil {
			s.Fatal(err)
		}
		pause(5 * time.Second)
		disk.Free()
	}
}
