package lease_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the contests for a real Lease run side by side: each waits for half a
// minute, and does nothing meanwhile.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
