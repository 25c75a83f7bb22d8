package stream_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
)

// A FIFO that nobody writes is a file that hangs.
func TestContract181ACertificateThatHangsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "tls.crt")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (stream.TLS{CertificateFile: fifo, KeyFile: fifo}).Check(); err == nil {
		t.Error("a FIFO is taken for a certificate")
	}
}
