package kubernetes

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// access is the way to the remote API server. Everything that a kubeconfig
// names is read into memory when a client is made, and compared with the files
// from then on, so that there is one way in which a rotated certificate, token
// or kubeconfig arrives: a new client. Only Run's goroutine uses it.
type access struct {
	kubeconfig string
	context    string
	userAgent  string
	wrap       func(http.RoundTripper) http.RoundTripper

	client *client
	// files are those that the client was made of, sum what they held.
	files []string
	sum   [sha256.Size]byte
}

// current returns a client made of what the files hold now.
func (a *access) current() (*client, error) {
	if a.client != nil && !a.changed() {
		return a.client, nil
	}
	_, files, err := a.load()
	if err != nil {
		return nil, a.describe(err)
	}
	sum, err := checksum(files)
	if err != nil {
		return nil, a.describe(err)
	}
	// Loaded after the sum, so that a file which changes meanwhile differs from
	// it and is read once more.
	config, _, err := a.load()
	if err != nil {
		return nil, a.describe(err)
	}
	if a.wrap != nil {
		config.Wrap(a.wrap)
	}
	client, err := newClient(config, a.userAgent)
	if err != nil {
		return nil, a.describe(errors.New(withoutUser(err.Error())))
	}
	a.close()
	a.client, a.files, a.sum = client, files, sum
	return client, nil
}

// Access returns the way to the API server as the files say it now, for who has
// to ask it for something else than nodes. Callers own it.
func (s *Source) Access() (*rest.Config, error) {
	config, _, err := s.access.load()
	if err != nil {
		return nil, s.access.describe(err)
	}
	return config, nil
}

// rotated reports whether the files hold another access by now, and a usable
// one: a file that is just being written ends no watch.
func (a *access) rotated() bool {
	if !a.changed() {
		return false
	}
	_, _, err := a.load()
	return err == nil
}

// changed reports whether a file holds something else than before. One that
// cannot be read now is asked again later.
func (a *access) changed() bool {
	sum, err := checksum(a.files)
	return err == nil && sum != a.sum
}

// load reads the kubeconfig and everything it names, and returns which files
// those were.
func (a *access) load() (*rest.Config, []string, error) {
	files := filepath.SplitList(a.kubeconfig)
	for _, file := range files {
		// The loading rules would pass over a missing file.
		if err := regular(file); err != nil {
			return nil, nil, err
		}
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files}
	raw, err := rules.Load()
	if err != nil {
		return nil, nil, unparsed(err)
	}
	if err := irregular(raw); err != nil {
		return nil, nil, err
	}
	// Not the deferred loader: in a Pod it falls back to the local cluster.
	overrides := &clientcmd.ConfigOverrides{CurrentContext: a.context}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, a.context, overrides, rules).ClientConfig()
	if err != nil {
		return nil, nil, err
	}
	for _, file := range []string{config.CAFile, config.CertFile, config.KeyFile, config.BearerTokenFile} {
		if file != "" {
			files = append(files, file)
		}
	}
	if err := inline(config); err != nil {
		return nil, nil, err
	}
	return config, files, nil
}

// regular says why a file cannot be read again and again: opening a FIFO would
// wait for a writer, and nothing ends that.
func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	return nil
}

// irregular says which of the files that a kubeconfig names is there and no
// regular one: who loads the configuration opens them.
func irregular(raw *clientcmdapi.Config) error {
	var files []string
	for _, cluster := range raw.Clusters {
		files = append(files, cluster.CertificateAuthority)
	}
	for _, user := range raw.AuthInfos {
		files = append(files, user.TokenFile, user.ClientCertificate, user.ClientKey)
	}
	for _, file := range files {
		if err := regular(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// inline reads the files that the configuration names, so that client-go need
// not watch them.
func inline(config *rest.Config) error {
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
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

// checksum is of the contents of all files.
func checksum(files []string) ([sha256.Size]byte, error) {
	sums := sha256.New()
	for _, file := range files {
		if err := regular(file); err != nil {
			return [sha256.Size]byte{}, err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		sum := sha256.Sum256(content)
		sums.Write(sum[:])
	}
	return [sha256.Size]byte(sums.Sum(nil)), nil
}

func (a *access) close() {
	if a.client != nil {
		a.client.close()
	}
}

// describe adds which setting an error is about.
func (a *access) describe(err error) error {
	remedy := "; correct SECURED_KUBECONFIG, or the file"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "; create it, or correct SECURED_KUBECONFIG"
	case clientcmd.IsContextNotFound(err):
		remedy = "; correct SECURED_KUBECTL_CONTEXT"
	}
	return fmt.Errorf("SECURED_KUBECONFIG=%s: %w%s", a.kubeconfig, err, remedy)
}

var (
	lineNumber = regexp.MustCompile(`line \d+`)
	userInfo   = regexp.MustCompile(`//[^/@\s"]*@`)
)

// unparsed holds back what a parser quotes of a file that holds secrets.
func unparsed(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	at := lineNumber.FindString(err.Error())
	if at != "" {
		at = " (" + at + ")"
	}
	return fmt.Errorf("the file cannot be parsed as a kubeconfig%s; kubectl config view says why", at)
}

// withoutUser removes a user name and password from URLs.
func withoutUser(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return userInfo.ReplaceAllString(text, "//...@")
}
