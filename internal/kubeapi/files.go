package kubeapi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"net/http"
	"os"

	"k8s.io/client-go/rest"
)

// checksum is of the contents of all files. One that is missing counts as empty: it
// may be one of several kubeconfigs.
func checksum(names []string) ([sha256.Size]byte, error) {
	sums := sha256.New()
	for _, name := range names {
		err := regular(name)
		if errors.Is(err, fs.ErrNotExist) {
			sums.Write(make([]byte, sha256.Size))
			continue
		}
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		sum := sha256.Sum256(content)
		sums.Write(sum[:])
	}
	return [sha256.Size]byte(sums.Sum(nil)), nil
}

// inline reads the files that the configuration names, so that client-go need
// not watch them.
func inline(config *rest.Config) error {
	if err := rest.LoadTLSFiles(config); err != nil {
		return errors.New("a file of its certificates cannot be read")
	}
	config.CAFile, config.CertFile, config.KeyFile = "", "", ""
	if config.BearerTokenFile != "" {
		token, err := os.ReadFile(config.BearerTokenFile)
		if err != nil {
			return err
		}
		config.BearerToken, config.BearerTokenFile = string(bytes.TrimSpace(token)), ""
		if config.BearerToken == "" {
			return errors.New("the file of its token is empty")
		}
	}
	if config.Proxy == nil {
		// What client-go uses by itself. With it set, client-go keeps no client
		// of an old token for ever.
		config.Proxy = http.ProxyFromEnvironment
	}
	return nil
}
