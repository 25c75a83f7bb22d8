//go:build lab

package proxies_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// backendReport is what a backend says of a request.
type backendReport struct {
	Backend, Protocol, URI, Host, ServerName string
	Header                                   http.Header
	// Code and Location are the proxy's.
	Code     int
	Location string
}

// echo answers with what it sees, or lets a connection be upgraded and sends back what
// comes.
func echo(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "websocket" {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_, _ = io.Copy(conn, buffered)
			return
		}
		s := backendReport{Backend: name, Protocol: r.Proto, URI: r.RequestURI, Host: r.Host, Header: r.Header}
		if r.TLS != nil {
			s.ServerName = r.TLS.ServerName
		}
		_ = json.NewEncoder(w).Encode(s)
	})
}

// backend serves on a free port; with a configuration in TLS, otherwise in HTTP/1.1 and, if
// asked for so, in HTTP/2.
func backend(t *testing.T, name string, encryption *tls.Config) netip.AddrPort {
	t.Helper()
	return backendOn(t, name, listen(t), encryption)
}

func backendOn(t *testing.T, name string, listener net.Listener, encryption *tls.Config) netip.AddrPort {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: echo(name), Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0)}
	t.Cleanup(func() { _ = server.Close() })
	at := netip.MustParseAddrPort(listener.Addr().String())
	if encryption != nil {
		listener = tls.NewListener(listener, encryption)
	}
	go func() { _ = server.Serve(listener) }()
	return at
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// headerBackend tells each connection the client that its PROXY header of version 2 names.
func headerBackend(t *testing.T) netip.AddrPort {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.WriteString(conn, source(bufio.NewReader(conn))+"\n")
			}()
		}
	}()
	return netip.MustParseAddrPort(listener.Addr().String())
}

// source reads a PROXY header of version 2.
func source(r io.Reader) string {
	begin := make([]byte, 16)
	if _, err := io.ReadFull(r, begin); err != nil || string(begin[:12]) != "\r\n\r\n\x00\r\nQUIT\n" {
		return "no header"
	}
	rest := make([]byte, binary.BigEndian.Uint16(begin[14:]))
	if _, err := io.ReadFull(r, rest); err != nil || len(rest) < 4 {
		return "a short header"
	}
	return net.IP(rest[:4]).String()
}

// certificate is one for a name, signed by itself, with a number.
func certificate(t *testing.T, name string, number int64) (chain, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// secret makes the files of a Secret as a node does, and the file that names them. A second
// call replaces the files as a node does, too.
func (w *world) secret(name, host string, number int64) {
	w.t.Helper()
	folder := filepath.Join(w.folder, "secrets", name)
	chain, key := certificate(w.t, host, number)
	place(w.t, folder, map[string][]byte{"tls.crt": chain, "tls.key": key})
	file := filepath.Join(w.folder, envoyconfig.PodSecretFile(name))
	if _, err := os.Stat(file); err == nil {
		return // it names the same files
	}
	text, err := envoyconfig.ListenerSecret(name, folder)
	must(w.t, err)
	must(w.t, os.WriteFile(file, text, 0o600))
}

// place makes a folder hold these files, and replaces all of them at once by a link, as a
// node does.
func place(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	data := filepath.Join(folder, fmt.Sprintf("..data-%d", time.Now().UnixNano()))
	must(t, os.MkdirAll(data, 0o755))
	for file, text := range files {
		must(t, os.WriteFile(filepath.Join(data, file), text, 0o600))
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(folder, file)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	must(t, os.Symlink(filepath.Base(data), filepath.Join(folder, "..data_tmp")))
	must(t, os.Rename(filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data")))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
