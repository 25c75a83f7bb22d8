//go:build lab

package lab

import (
	"net/netip"
	"slices"
	"testing"
	"time"
)

// Inventory is the workers that one source lists.
type Inventory struct {
	t         testing.TB
	world     *World
	source    lister
	workers   []*Worker
	handshake time.Duration
}

// Workers are the workers that the inventory lists, in the order in which they joined.
func (i *Inventory) Workers() []*Worker { return slices.Clone(i.workers) }

// AddWorker starts a machine that the inventory does not list yet.
func (i *Inventory) AddWorker() *Worker {
	i.t.Helper()
	return i.world.newWorker(i.t, netip.Addr{}, i.handshake)
}

// AddWorkerAt is [Inventory.AddWorker] with an address that another had.
func (i *Inventory) AddWorkerAt(address netip.Addr) *Worker {
	i.t.Helper()
	return i.world.newWorker(i.t, address, i.handshake)
}

// Join makes the inventory list workers.
func (i *Inventory) Join(workers ...*Worker) {
	i.t.Helper()
	i.workers = append(i.workers, workers...)
	i.list()
}

// Leave makes the inventory say that workers are about to leave. A source that cannot
// say so no longer lists them.
func (i *Inventory) Leave(workers ...*Worker) {
	i.t.Helper()
	for _, w := range workers {
		w.leaving = true
	}
	i.list()
}

// Gone takes workers out of the inventory.
func (i *Inventory) Gone(workers ...*Worker) {
	i.t.Helper()
	i.workers = slices.DeleteFunc(i.workers, func(w *Worker) bool { return slices.Contains(workers, w) })
	i.list()
}

// Replace makes these workers the whole inventory.
func (i *Inventory) Replace(workers ...*Worker) {
	i.t.Helper()
	i.workers = slices.Clone(workers)
	i.list()
}

// list hands the workers to the source.
func (i *Inventory) list() {
	i.t.Helper()
	i.source.list(i.Workers())
}
