package pool_test

import (
	"errors"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

func TestContract52AnErrorTakesThePlaceOfNoInventory(t *testing.T) {
	away := errors.New("away")
	for name, c := range map[string]struct {
		put   func(*pool.Box)
		nodes int
		err   error
	}{
		"nothing":                         {func(*pool.Box) {}, -1, nil},
		"an inventory":                    {func(b *pool.Box) { b.Inventory(3) }, 3, nil},
		"an error":                        {func(b *pool.Box) { b.Error(away) }, -1, away},
		"an inventory, then an error":     {func(b *pool.Box) { b.Inventory(3); b.Error(away) }, 3, away},
		"an error, then an inventory":     {func(b *pool.Box) { b.Error(away); b.Inventory(3) }, 3, nil},
		"two inventories":                 {func(b *pool.Box) { b.Inventory(3); b.Inventory(4) }, 4, nil},
		"an inventory that was taken":     {func(b *pool.Box) { b.Inventory(3); _, _ = b.Take() }, -1, nil},
		"an error after one was taken":    {func(b *pool.Box) { b.Inventory(3); _, _ = b.Take(); b.Error(away) }, -1, away},
		"two errors after an inventory":   {func(b *pool.Box) { b.Inventory(3); b.Error(away); b.Error(away) }, 3, away},
		"inventory, error, and inventory": {func(b *pool.Box) { b.Inventory(3); b.Error(away); b.Inventory(4) }, 4, nil},
	} {
		b := pool.NewBox()
		c.put(b)
		if nodes, err := b.Take(); nodes != c.nodes || !errors.Is(err, c.err) {
			t.Errorf("%s: got %d nodes and %v, want %d and %v", name, nodes, err, c.nodes, c.err)
		}
	}
}
