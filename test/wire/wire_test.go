package wire_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/wire"
)

func TestMain(m *testing.M) { netns.Main(m) }

// The two ends of every wire here.
const (
	near = "10.9.0.1"
	far  = "10.9.0.2"
)

// waitTimeout bounds what must happen, silence is how long nothing must.
const (
	waitTimeout = 30 * time.Second
	silence     = 300 * time.Millisecond
)

// laid is a wire from the test's namespace to one of a child.
type laid struct {
	*wire.Wire
	namespace string
}

// lay lays a wire with an address at each end.
func lay(t *testing.T) laid {
	t.Helper()
	netns.Require(t)
	namespace := childNamespace(t)
	w := wire.Join(t, wire.End{Device: "near"}, wire.End{Namespace: namespace, Device: "far"}, 1)
	run(t, "ip", "address", "add", near+"/24", "dev", "near")
	run(t, "nsenter", "--net="+namespace, "ip", "address", "add", far+"/24", "dev", "far")
	return laid{w, namespace}
}

// childNamespace returns the file of a network namespace that ends with the test.
func childNamespace(t *testing.T) string {
	t.Helper()
	command := exec.Command("unshare", "--net", "sh", "-c", "echo made; exec sleep 600")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	made, err := child.Start(command, filepath.Join(t.TempDir(), "unshare.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Kill)
	if _, err := fmt.Fscanln(output, new(string)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/proc/%d/ns/net", made.PID)
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, output)
	}
}

// atFarEnd runs a function in the namespace of the far end; sockets that it
// makes stay there.
func (l laid) atFarEnd(t *testing.T, do func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // ends with the goroutine
		file, err := os.Open(l.namespace)
		if err == nil {
			defer file.Close()
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// echo serves at the far end: it sends back what it receives. It counts connections.
func (l laid) echo(t *testing.T) (address string, accepted chan struct{}) {
	t.Helper()
	var listener net.Listener
	l.atFarEnd(t, func() (err error) {
		listener, err = net.Listen("tcp", far+":0")
		return err
	})
	t.Cleanup(func() { listener.Close() })
	accepted = make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn) // until the test hangs up
			}()
		}
	}()
	return listener.Addr().String(), accepted
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, waitTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// abort ends a connection without a farewell: the system sends nothing of it again.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// send sends bytes and waits for them to come back.
func send(conn net.Conn, size int, within time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(make([]byte, size))
		written <- err
	}()
	_, err := io.ReadFull(conn, make([]byte, size))
	return errors.Join(err, <-written)
}

func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

func TestACleanWireCarriesEverything(t *testing.T) {
	l := lay(t)
	address, _ := l.echo(t)
	if err := send(dial(t, address), 1<<20, waitTimeout); err != nil {
		t.Error(err)
	}
	for _, traffic := range both(l.Traffic()) {
		if traffic.Lost > 0 || traffic.Carried < 1<<20/1500 {
			t.Errorf("got %+v, want everything carried", traffic)
		}
	}
}

func both(forth, back wire.Traffic) []wire.Traffic { return []wire.Traffic{forth, back} }

func TestLatencyIsAddedInEachDirection(t *testing.T) {
	l := lay(t)
	address, _ := l.echo(t)
	conn := dial(t, address)
	for name, set := range map[string]func(){
		"forth": func() { l.Forth(wire.Condition{Latency: 150 * time.Millisecond}) },
		"back":  func() { l.Back(wire.Condition{Latency: 150 * time.Millisecond}) },
	} {
		l.Mend()
		set()
		start := time.Now()
		if err := send(conn, 1, waitTimeout); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 150*time.Millisecond {
			t.Errorf("%s: there and back in %v, want at least 150ms", name, took)
		}
	}
}

func TestACutInOneDirectionLetsTheOtherThrough(t *testing.T) {
	l := lay(t)
	address, accepted := l.echo(t)
	conn := dial(t, address)
	<-accepted
	l.Forth(wire.Condition{Cut: true})
	if err := send(conn, 1, silence); !timedOut(err) {
		t.Errorf("cut forth: got %v, want a time-out", err)
	}
	abort(conn) // else what was lost would be sent again, and answered, later
	l.Mend()
	conn = dial(t, address)
	<-accepted
	l.Back(wire.Condition{Cut: true})
	_, before := l.Traffic() // the last answers of before have passed
	if err := send(conn, 1, silence); !timedOut(err) {
		t.Errorf("cut back: got %v, want a time-out", err)
	}
	if _, after := l.Traffic(); after.Lost == before.Lost || after.Carried != before.Carried {
		t.Errorf("cut back: from %+v to %+v, want only lost answers", before, after)
	}
	l.Mend()
	if err := send(conn, 0, waitTimeout); err != nil {
		t.Errorf("after the fault: %v", err)
	}
}

func TestACutWireIsSilentToNewConnections(t *testing.T) {
	l := lay(t)
	address, _ := l.echo(t)
	_ = dial(t, address) // then both ends know each other's hardware address
	l.Both(wire.Condition{Cut: true})
	_, err := net.DialTimeout("tcp", address, silence)
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("cut: got %v, want a time-out", err)
	}
	l.Mend()
	_ = dial(t, address)
}

func TestLargePacketsVanishWhileSmallOnesPass(t *testing.T) {
	l := lay(t)
	address, _ := l.echo(t)
	l.Both(wire.Condition{MaxPacket: 1000})
	conn := dial(t, address)
	if err := send(conn, 500, waitTimeout); err != nil {
		t.Errorf("500 bytes: %v", err)
	}
	if err := send(conn, 5000, silence); !timedOut(err) {
		t.Errorf("5000 bytes: got %v, want a time-out", err)
	}
	l.Mend()
	if err := send(dial(t, address), 5000, waitTimeout); err != nil {
		t.Errorf("after the fault: %v", err)
	}
}

func TestALossyWireLosesItsShareAndKeepsTheOrder(t *testing.T) {
	l := lay(t)
	var server net.PacketConn
	l.atFarEnd(t, func() (err error) {
		server, err = net.ListenPacket("udp", far+":0")
		return err
	})
	defer server.Close()
	client, err := net.Dial("udp", server.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	receive := func() (n byte) {
		buffer := make([]byte, 8)
		if err := server.SetReadDeadline(time.Now().Add(waitTimeout)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := server.ReadFrom(buffer); err != nil {
			t.Fatal(err)
		}
		return buffer[0]
	}
	fmt.Fprint(client, "first") // finds the hardware address
	receive()

	before, _ := l.Traffic()
	l.Forth(wire.Condition{Loss: 0.5, Jitter: 5 * time.Millisecond})
	const sent = 200
	for n := range sent {
		_, _ = client.Write([]byte{byte(n)})
	}
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(time.Millisecond) {
		now, _ := l.Traffic()
		if now.Carried+now.Lost >= before.Carried+before.Lost+sent {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the wire has seen %+v after %+v, want %d more", now, before, sent)
		}
	}
	l.Mend()
	_, _ = client.Write([]byte{255})
	last, received := -1, 0
	for n := receive(); n != 255; n = receive() {
		if int(n) <= last {
			t.Errorf("%d came after %d", n, last)
		}
		last = int(n)
		received++
	}
	if received < 60 || received > 140 {
		t.Errorf("got %d of %d frames at a loss of a half", received, sent)
	}
	if after, _ := l.Traffic(); after.Lost-before.Lost < 60 {
		t.Errorf("lost: got %d, want about %d", after.Lost-before.Lost, sent/2)
	}
}

func TestAWireEndsWithItsTest(t *testing.T) {
	t.Run("wire", func(t *testing.T) { _ = lay(t) })
	if _, err := net.InterfaceByName("near"); err == nil {
		t.Error("the device is still there")
	}
}
