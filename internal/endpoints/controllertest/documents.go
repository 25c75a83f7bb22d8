package controllertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Documents are pools and what Services want of them, and change as platforms change them: many at
// once. P is what a pool has.
type Documents[P Divisible[P]] struct {
	Pools    map[string]P
	Bindings map[string]Binding // by namespace/name of the Service
	// Gone are pools that were removed, Left the bindings that were removed with them.
	Gone map[string]P
	Left map[string]Binding

	// halves has for each half of a pool that was split the other one.
	halves map[string]string
	named  int
}

// Binding is what a Service wants. It may adopt slices where it has one pool.
type Binding struct {
	Pools []string
	Adopt string
}

// Divisible is what can be divided into two halves, which together are the whole.
type Divisible[P any] interface {
	Halves() (one, other P)
	With(other P) P
}

// NewDocuments returns documents without pools.
func NewDocuments[P Divisible[P]]() Documents[P] {
	return Documents[P]{
		Pools: make(map[string]P), Bindings: make(map[string]Binding), Gone: make(map[string]P), Left: make(map[string]Binding),
		halves: make(map[string]string),
	}
}

// Fresh is a name that there never was.
func (d *Documents[P]) Fresh(from string) string {
	d.named++
	return fmt.Sprintf("%s%d", strings.TrimRight(from, "0123456789"), d.named)
}

// Rename gives a pool another name, in its document and in all bindings, and says so.
func (d *Documents[P]) Rename(from string) string {
	to := d.Fresh(from)
	if other := d.halves[from]; other != "" {
		d.halves[to], d.halves[other] = other, to
		delete(d.halves, from)
	}
	d.Pools[to] = d.Pools[from]
	d.replace([]string{from}, to)
	return fmt.Sprintf("pool %s is renamed to %s", from, to)
}

// Split makes two pools of one or, of the halves of one, one again, and says so.
func (d *Documents[P]) Split(from string) string {
	one := d.Fresh(from)
	if half := d.halves[from]; half != "" {
		var back string
		if _, there := d.Pools[half]; !there {
			back = d.Back() + "; "
		}
		d.Pools[one] = d.Pools[from].With(d.Pools[half])
		delete(d.halves, from)
		delete(d.halves, half)
		d.replace([]string{from, half}, one)
		return back + fmt.Sprintf("pools %s and %s become %s", from, half, one)
	}
	other := d.Fresh(from)
	d.Pools[one], d.Pools[other] = d.Pools[from].Halves()
	d.halves[one], d.halves[other] = other, one
	d.replace([]string{from}, one, other)
	return fmt.Sprintf("pool %s is split into %s and %s", from, one, other)
}

// Whole ends all splits.
func (d *Documents[P]) Whole() {
	for _, half := range slices.Sorted(maps.Keys(d.halves)) {
		if d.halves[half] != "" {
			d.Split(half)
		}
	}
}

// replace puts pools in the place of others, in all bindings. What adopts slices does not do so any
// more: it may not change its pool and keep them (205).
func (d *Documents[P]) replace(from []string, to ...string) {
	for _, pool := range from {
		delete(d.Pools, pool)
	}
	for name, b := range d.Bindings {
		if rest := b.without(from...); len(rest) < len(b.Pools) {
			d.Bindings[name] = Binding{Pools: append(rest, to...)}
		}
	}
}

// without are the pools of a binding but for some.
func (b Binding) without(some ...string) []string {
	return slices.DeleteFunc(slices.Clone(b.Pools), func(pool string) bool { return slices.Contains(some, pool) })
}

// Remove removes a pool together with its bindings or, where one is gone or it is the last one, brings
// back what was removed, and says so.
func (d *Documents[P]) Remove(pool string) string {
	if len(d.Gone) > 0 || len(d.Pools) == 1 {
		return d.Back()
	}
	d.Gone[pool] = d.Pools[pool]
	delete(d.Pools, pool)
	for name, b := range d.Bindings {
		switch rest := b.without(pool); {
		case len(rest) == 0:
			d.Left[name] = b
			delete(d.Bindings, name)
		case len(rest) < len(b.Pools):
			d.Bindings[name] = Binding{Pools: rest}
		}
	}
	return fmt.Sprintf("pool %s is removed, and with it the bindings of %v", pool, slices.Sorted(maps.Keys(d.Left)))
}

// Back brings back what was removed, and says so.
func (d *Documents[P]) Back() string {
	said := fmt.Sprintf("pools %v and the bindings of %v are there again", slices.Sorted(maps.Keys(d.Gone)), slices.Sorted(maps.Keys(d.Left)))
	maps.Copy(d.Pools, d.Gone)
	maps.Copy(d.Bindings, d.Left)
	clear(d.Gone)
	clear(d.Left)
	return said
}
