package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
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
func Fixed(config *rest.Config) Way { return fixed{config} }

type fixed struct{ config *rest.Config }

func (f fixed) Snapshot() (config *rest.Config, changed func() bool, err error) {
	return rest.CopyConfig(f.config), func() bool { return false }, nil
}

func (f fixed) Describe(err error) error { return err }

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
		if err := regular(file); err == nil {
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

// regular says why a file cannot be read again and again.
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
	if err == nil {
		return nil
	}
	setting, value := a.Setting, a.Kubeconfig
	remedy := "; correct " + setting + ", or the file"
	switch {
	case a.Kubeconfig == "":
		return err
	case errors.Is(err, fs.ErrNotExist):
		remedy = "; create it, or correct " + setting
	case errors.Is(err, errNoContext) && a.Context != "" && a.ContextSetting != "":
		remedy = "; correct " + a.ContextSetting
	}
	return fmt.Errorf("%s=%s: %w%s", setting, value, err, remedy)
}

// errNoContext says that the context is not in the kubeconfig.
var errNoContext = errors.New("there is no such context in it")

// check says what is wrong with the part of a kubeconfig that is used, without the
// values: any of them may hold a password.
func (a Access) check(raw *clientcmdapi.Config) error {
	name := a.Context
	if name == "" {
		name = raw.CurrentContext
	}
	if name == "" {
		return fmt.Errorf("%w: it has no current-context", errNoContext)
	}
	used, ok := raw.Contexts[name]
	if !ok || used == nil {
		return fmt.Errorf("context %q: %w", name, errNoContext)
	}
	cluster, ok := raw.Clusters[used.Cluster]
	if !ok || cluster == nil {
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
		return errors.New("the apiVersion of its exec plugin is neither " + group + "v1 nor " + group + "v1beta1; make the kubeconfig anew with a newer version of the tool that made it")
	case plugin.APIVersion == group+"v1" && plugin.InteractiveMode == "":
		return errors.New("its exec plugin has no interactiveMode, which " + group + "v1 needs; write interactiveMode: Never")
	}
	return nil
}
