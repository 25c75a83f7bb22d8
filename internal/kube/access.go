package kube

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Way says how an API server is reached. Access is the way that files say.
type Way interface {
	// Snapshot returns the access as it is now, which the caller owns, and a function
	// that reports whether it is another one by then.
	Snapshot() (config *rest.Config, changed func() bool, err error)
	// Describe adds to an error where the access comes from, and the remedy.
	Describe(err error) error
}

// Fixed is a way that never changes.
func Fixed(config *rest.Config) Way { return fixedWay{config} }

type fixedWay struct{ config *rest.Config }

func (f fixedWay) Snapshot() (config *rest.Config, changed func() bool, err error) {
	return rest.CopyConfig(f.config), func() bool { return false }, nil
}

func (f fixedWay) Describe(err error) error { return err }

// Access is the way to an API server as files say it: a kubeconfig, or without one
// the ServiceAccount of the Pod. Its errors name the setting and the remedy and
// quote nothing of the files, for libraries quote passwords in theirs.
type Access struct {
	// Kubeconfig is a file, or several as in KUBECONFIG, of which those that are
	// missing are passed over as long as there is one; empty for the ServiceAccount
	// of the Pod, where that is allowed: a remote cluster is never the Pod's own.
	Kubeconfig string
	// InCluster allows the ServiceAccount of the Pod.
	InCluster bool
	// Context is the context of the kubeconfig; empty for its current one.
	Context string
	// Setting and ContextSetting are the variables that Kubeconfig and Context come
	// from; ContextSetting is empty where there is none.
	Setting, ContextSetting string
	// Wrap goes around the transport of every client, to see its requests; it
	// may be nil. It must pass on what it gets.
	Wrap func(http.RoundTripper) http.RoundTripper
	// NoPrograms refuses an access that runs a program, with ErrProgram.
	NoPrograms bool
}

// Config returns the access as the files say it now. client-go reads the files of
// tokens and certificates that it names again by itself; what the kubeconfig holds
// itself stays as it is.
func (a Access) Config() (*rest.Config, error) {
	if a.Kubeconfig == "" {
		return a.pod()
	}
	config, err := a.load()
	return config, a.Describe(err)
}

// Snapshot returns the access with everything that the files hold, so that
// client-go reads none of them, and a function that reports whether they hold
// something else by then. A file that cannot be read is asked again later.
func (a Access) Snapshot() (config *rest.Config, changed func() bool, err error) {
	if config, err = a.Config(); err != nil {
		return nil, nil, err
	}
	files := a.files(config)
	held, err := checksum(files)
	if err != nil {
		return nil, nil, a.Describe(err)
	}
	// Read after the sum, so that a file which changes meanwhile differs from it.
	if config, err = a.Config(); err != nil {
		return nil, nil, err
	}
	if a.Wrap != nil {
		config.Wrap(a.Wrap)
	}
	changed = func() bool {
		holds, err := checksum(files)
		return err == nil && holds != held
	}
	return config, changed, a.Describe(inline(config))
}

// ErrUnusable says that no client can be made of an access. What client-go says of
// it is not passed on: it may quote an address with a password.
var ErrUnusable = errors.New("its server, proxy-url, certificate, key or plugin cannot be used; kubectl get --raw /version says why")

// pod is the way that the ServiceAccount of the Pod is given.
func (a Access) pod() (*rest.Config, error) {
	if !a.InCluster {
		return nil, fmt.Errorf("no kubeconfig is given; set %s", a.Setting)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, fmt.Errorf("outside of a cluster %s, the kubeconfig of the cluster, is needed", a.Setting)
	}
	return config, err
}

// load reads the kubeconfig.
func (a Access) load() (*rest.Config, error) {
	var files []string
	var missing error
	for _, file := range filepath.SplitList(a.Kubeconfig) {
		// Opening a FIFO would wait for a writer, and nothing ends that.
		if _, err := system.ReadFile(file, mostOfFile); err == nil {
			files = append(files, file)
		} else if missing = err; !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, missing
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files}
	raw, err := rules.Load()
	if err != nil {
		return nil, unparsed(err)
	}
	if err := a.check(raw); err != nil {
		return nil, err
	}
	// Not the deferred loader: in a Pod it falls back to the Pod's own cluster.
	overrides := &clientcmd.ConfigOverrides{CurrentContext: a.Context}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, a.Context, overrides, rules).ClientConfig()
	if err != nil {
		return nil, ErrUnusable
	}
	// An auth-provider runs none today: its plugins are not part of this program. One that
	// is linked by mistake may not change that.
	if a.NoPrograms && (config.ExecProvider != nil || config.AuthProvider != nil) {
		return nil, ErrProgram
	}
	return config, nil
}

// ErrProgram says that the access would run a program.
var ErrProgram = errors.New("the kubeconfig runs a program (exec or auth-provider), which only a pool in a mounted document may have; use a token or a client certificate")

// files are those that the access is made of.
func (a Access) files(config *rest.Config) []string {
	names := filepath.SplitList(a.Kubeconfig)
	for _, file := range []string{config.CAFile, config.CertFile, config.KeyFile, config.BearerTokenFile} {
		if file != "" {
			names = append(names, file)
		}
	}
	return names
}

// mostOfFile bounds one file: a kubeconfig may be of hundreds of clusters.
const mostOfFile = 16 << 20

var lineNumber = regexp.MustCompile(`line \d+`)

// unparsed removes what a parser quotes of a file that holds secrets.
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

// Describe adds which setting an error is about, and the remedy.
func (a Access) Describe(err error) error {
	if err == nil || a.Kubeconfig == "" {
		return err
	}
	remedy := "; correct " + a.Setting + ", or the file"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "; create it, or correct " + a.Setting
	case errors.Is(err, errNoContext) && a.Context != "" && a.ContextSetting != "":
		remedy = "; correct " + a.ContextSetting
	}
	return fmt.Errorf("%s=%s: %w%s", a.Setting, a.Kubeconfig, err, remedy)
}

// errNoContext says that the context is not in the kubeconfig.
var errNoContext = errors.New("there is no such context in it")

// check says what is wrong with the part of a kubeconfig that is used, without the
// values: any of them may hold a password.
func (a Access) check(raw *clientcmdapi.Config) error {
	name := cmp.Or(a.Context, raw.CurrentContext)
	if name == "" {
		return fmt.Errorf("%w: it has no current-context", errNoContext)
	}
	used := raw.Contexts[name]
	if used == nil {
		return fmt.Errorf("context %q: %w", name, errNoContext)
	}
	cluster := raw.Clusters[used.Cluster]
	if cluster == nil {
		return fmt.Errorf("context %q: there is no cluster %q in it", name, used.Cluster)
	}
	if err := checkCluster(used.Cluster, cluster); err != nil {
		return err
	}
	user, ok := raw.AuthInfos[used.AuthInfo]
	switch {
	case !ok && used.AuthInfo != "":
		return fmt.Errorf("context %q: there is no user %q in it", name, used.AuthInfo)
	case !ok || user == nil:
		return nil
	case user.Exec != nil && !a.NoPrograms:
		if err := checkPlugin(user.Exec); err != nil {
			return fmt.Errorf("user %q: %w", used.AuthInfo, err)
		}
	}
	return checkFiles(fmt.Sprintf("user %q", used.AuthInfo), map[string]string{
		"tokenFile": user.TokenFile, "client-certificate": user.ClientCertificate, "client-key": user.ClientKey,
	})
}

// checkPlugin says why client-go would not run an exec plugin: it says so itself, in a text
// that may quote an address with a password.
func checkPlugin(plugin *clientcmdapi.ExecConfig) error {
	const group = "client.authentication.k8s.io/"
	switch {
	case plugin.Command == "":
		return errors.New("its exec plugin has no command")
	case plugin.APIVersion != group+"v1" && plugin.APIVersion != group+"v1beta1":
		return errors.New("the apiVersion of its exec plugin is neither " + group + "v1 nor " + group + "v1beta1; make the kubeconfig again with a newer version of the tool that made it")
	case plugin.APIVersion == group+"v1" && plugin.InteractiveMode == "":
		return errors.New("its exec plugin has no interactiveMode, which " + group + "v1 needs; write interactiveMode: Never")
	}
	return nil
}

// checksum is of the contents of all files. One that is missing counts as empty: it
// may be one of several kubeconfigs.
func checksum(names []string) ([sha256.Size]byte, error) {
	sums := sha256.New()
	for _, name := range names {
		content, err := system.ReadFile(name, mostOfFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
		token, err := system.ReadFile(config.BearerTokenFile, mostOfFile)
		if err != nil {
			return err
		}
		config.BearerToken, config.BearerTokenFile = string(bytes.TrimSpace(token)), ""
		if config.BearerToken == "" {
			return errors.New("the file of its token is empty")
		}
	}
	return nil
}

// proxies are the schemes of a proxy-url that client-go takes.
var proxies = []string{"http", "https", "socks5"}

// checkCluster says what is wrong with the addresses and files of a cluster.
func checkCluster(name string, cluster *clientcmdapi.Cluster) error {
	server, err := url.Parse(cluster.Server)
	switch {
	case cluster.Server == "":
		return fmt.Errorf("cluster %q has no server", name)
	case err != nil, server.Host == "" && server.Scheme != "":
		return fmt.Errorf("cluster %q: its server is no valid URL; it is not shown, because it may hold a password", name)
	}
	if cluster.ProxyURL != "" {
		through, err := url.Parse(cluster.ProxyURL)
		if err != nil || !slices.Contains(proxies, through.Scheme) || transport.CheckProxy(through) != nil {
			return fmt.Errorf("cluster %q: its proxy-url is no valid URL of scheme http, https or socks5; %s", name, transport.ProxyRemedy)
		}
	}
	return checkFiles(fmt.Sprintf("cluster %q", name), map[string]string{"certificate-authority": cluster.CertificateAuthority})
}

// checkFiles says which of the files that a kubeconfig names cannot be read.
func checkFiles(of string, files map[string]string) error {
	for _, field := range slices.Sorted(maps.Keys(files)) {
		if files[field] == "" {
			continue
		}
		if _, err := system.ReadFile(files[field], mostOfFile); err != nil {
			return fmt.Errorf("%s: its %s: %w", of, field, err)
		}
	}
	return nil
}

// Credential is what identifies the user to an API server.
type Credential string

// The credentials that may say when they end, and Plugin, which does not and
// renews itself.
const (
	Token             Credential = "token"
	ClientCertificate Credential = "client certificate"
	Plugin            Credential = "exec plugin"
)

// Expiry is when a credential ends.
type Expiry struct {
	// Credential is the one that ends; empty where it does not say when.
	Credential Credential
	// Begins is since when it is valid; zero where it does not say.
	Begins time.Time
	// Ends is until when it is valid; zero where that is not known.
	Ends time.Time
}

const (
	// longestNotice is how long before a credential expires the warning begins, unless
	// the last 1/noticeShare of its lifetime is shorter: a program renews such a
	// credential, and is late by then.
	longestNotice = 14 * 24 * time.Hour
	noticeShare   = 10
)

// ExpiryOf returns when the credential of a configuration ends, of a certificate
// and a token the one that ends sooner. Everything has to be inline, as Snapshot
// returns it. It is not known of opaque tokens, of passwords, and of what an exec
// plugin gets. Signatures are for the API server to check.
func ExpiryOf(config *rest.Config) Expiry {
	certificate := expiryOfCertificate(config.CertData)
	begins, ends := transport.TokenValidity(config.BearerToken)
	switch {
	case !ends.IsZero() && (!certificate.Known() || ends.Before(certificate.Ends)):
		return Expiry{Token, begins, ends}
	case !certificate.Known() && config.ExecProvider != nil:
		return Expiry{Credential: Plugin}
	}
	return certificate
}

// Known reports whether it is known when the credential ends.
func (e Expiry) Known() bool { return !e.Ends.IsZero() }

// Lifetime is how long the credential is valid in all, 0 where that is not known.
func (e Expiry) Lifetime() time.Duration {
	if e.Begins.IsZero() || !e.Begins.Before(e.Ends) {
		return 0
	}
	return e.Ends.Sub(e.Begins)
}

// Soon reports whether it is time to renew the credential: it ends within 14 days,
// and within a tenth of its lifetime.
func (e Expiry) Soon(now time.Time) bool {
	notice := longestNotice
	if lifetime := e.Lifetime(); lifetime > 0 {
		notice = min(notice, lifetime/noticeShare)
	}
	return e.Known() && e.Ends.Sub(now) < notice
}

// expiryOfCertificate reads the first certificate, which is the client's own.
func expiryOfCertificate(data []byte) Expiry {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return Expiry{}
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return Expiry{}
		}
		return Expiry{Credential: ClientCertificate, Begins: certificate.NotBefore, Ends: certificate.NotAfter}
	}
}
