package inventory_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// longest returns a text of so many bytes that ends with the number.
func longest(size, number int) string {
	return fmt.Sprintf("%s%05d", strings.Repeat("x", size-5), number)
}

func TestTenThousandNodesFitWithEveryKeyAndTheLongestTexts(t *testing.T) {
	const nodes = 10_000
	records := make([]string, nodes)
	for i := range records {
		records[i] = fmt.Sprintf(`{"name":%q,"private_ips":["10.0.%d.%d","fd12:3456:789a:bcde:f012:3456:789a:%x"],"ready":true,"worker":true,"id":%q,"zone":%q,"leaving":false}`,
			longest(253, i), i>>8, i&255, i, longest(253, i), longest(63, i))
	}
	document := "[" + strings.Join(records, ",\n") + "]"
	got, err := inventory.Decode([]byte(document))
	if err != nil || len(got) != nodes {
		t.Errorf("got %d nodes and error %v, want %d of a document of %d bytes", len(got), err, nodes, len(document))
	}
}

// fill repeats what the function returns, between opening and closing, until the
// document is as large as is allowed.
func fill(opening, closing string, next func(int) string) []byte {
	document := bytes.NewBufferString(opening)
	for i := 0; ; i++ {
		text := next(i)
		if document.Len()+len(text)+len(closing) > inventory.MaxBytes {
			return append(bytes.TrimSuffix(document.Bytes(), []byte(",")), closing...)
		}
		document.WriteString(text)
	}
}

func TestContract33DecodingTheLargestDocumentsTakesBoundedMemory(t *testing.T) {
	const bound = 96 << 20
	documents := map[string][]byte{
		"white space": fill("[", "]", func(int) string { return "          " }),
		"nodes with ids": fill("[", "]", func(i int) string {
			return fmt.Sprintf(`{"id":"%x","name":"%x","private_ips":[],"ready":true,"worker":true},`, i, i)
		}),
		"addresses": fill(`[{"name":"a","private_ips":[`, `],"ready":true,"worker":true}]`, func(i int) string {
			return fmt.Sprintf(`"::%x:%x",`, i>>16, i&0xffff)
		}),
		"escapes":  fill(`[{"name":"`, `"}]`, func(int) string { return `\u0041` }),
		"a number": fill(`[`, `]`, func(int) string { return "9999999999" }),
	}
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			var nodes []inventory.Node
			var err error
			used := mostHeap(func() { nodes, err = inventory.Decode(document) })
			t.Logf("%d bytes took %d MiB: %d nodes, error %.80v", len(document), used>>20, len(nodes), err)
			if used > bound {
				t.Errorf("got %d bytes of heap, want at most %d", used, bound)
			}
		})
	}
}

// mostHeap returns how much more of the heap is in use while the function runs,
// at most, with as little garbage as can be.
func mostHeap(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	inUse := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before, most := inUse(), uint64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	for {
		select {
		case <-done:
			return max(most, inUse()) - before
		case <-time.After(time.Millisecond):
			most = max(most, inUse())
		}
	}
}
