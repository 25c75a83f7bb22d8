package probe_test

import (
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sized names a benchmark by its size.
func sized(what string, size int) string { return what + "=" + strconv.Itoa(size) }
