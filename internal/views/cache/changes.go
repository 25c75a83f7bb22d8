package cache

import (
	"cmp"
	"slices"
)

// changes are the newest changes of the items of one form, by number. Of an item only
// the newest counts; the others are left out when they are many.
type changes struct {
	all []change
	// items is how many items there are, live how many of them are not gone.
	items, live int
}

type change struct {
	seq  uint64
	item *item
}

// spare is how many outdated changes there may be beside as many as there are items.
const spare = 1024

// add notes that an item changed.
func (c *changes) add(i *item) {
	if len(c.all) > 2*c.items+spare {
		c.all = slices.DeleteFunc(c.all, outdated)
	}
	c.all = append(c.all, change{i.seq, i})
}

// remove forgets an item.
func (c *changes) remove(i *item) {
	i.seq = 0
	c.items--
}

func outdated(c change) bool { return c.seq != c.item.seq }

// after returns the changes that are later than a number.
func (c *changes) after(seq uint64) []change {
	n, _ := slices.BinarySearchFunc(c.all, seq+1, func(one change, seq uint64) int { return cmp.Compare(one.seq, seq) })
	return c.all[n:]
}
