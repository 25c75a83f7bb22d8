package stream

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/certificates"
)

const (
	// every is how long the list of identities and its tokens are used without a
	// look at the files.
	every = 2 * time.Second
	// longestFile bounds what is read, in bytes.
	longestFile = 1 << 20
	// leastToken is the length below which a token could be guessed.
	leastToken = 16
	// allNamespaces in a list of namespaces stands for every one.
	allNamespaces = "*"
)

// Identity is a client, and what it may see.
type Identity struct {
	// Name is NAMESPACE/NAME, as in the certificate.
	Name       string   `json:"name"`
	Namespaces []string `json:"namespaces"`
	// TokenFile holds a token that also shows this identity.
	TokenFile string `json:"tokenFile,omitempty"`

	token [sha256.Size]byte
}

// name is the identity's, empty where no client needs one.
func (i *Identity) name() string {
	if i == nil {
		return ""
	}
	return i.Name
}

// seal adds to a token for which namespaces it was given: what was told of others says
// nothing of what a client has.
func (i *Identity) seal(token string) string {
	if i == nil {
		return token
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(i.Namespaces)), ",")))
	return token + "~" + hex.EncodeToString(sum[:4])
}

// sees reports whether the identity may see a namespace.
func (i *Identity) sees(namespace string) bool {
	return slices.Contains(i.Namespaces, namespace) || slices.Contains(i.Namespaces, allNamespaces)
}

// Identities are the clients that a file names.
type Identities struct {
	path string

	mu      sync.Mutex
	all     map[string]*Identity
	checked time.Time
	problem error
}

// ReadIdentities reads the file, which is read again when it changes. A version that
// is wrong leaves the last good one in effect.
func ReadIdentities(path string) (*Identities, error) {
	all, err := readIdentities(path)
	if err != nil {
		return nil, err
	}
	return &Identities{path: path, all: all, checked: time.Now()}, nil
}

// readIdentities reads the file and the tokens that it names.
func readIdentities(path string) (map[string]*Identity, error) {
	text, err := system.ReadFile(path, longestFile)
	if err != nil {
		return nil, fmt.Errorf("read the identities: %w", err)
	}
	var file struct {
		Identities []*Identity `json:"identities"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("%s is no list of identities: %w", path, err)
	}
	all := make(map[string]*Identity, len(file.Identities))
	var mistakes []error
	for n, i := range file.Identities {
		if i == nil {
			mistakes = append(mistakes, fmt.Errorf("%s: identity %d is empty; remove it", path, n+1))
			continue
		}
		if err := i.check(all); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: identity %q %w", path, i.Name, err))
		}
		all[i.Name] = i
	}
	return all, errors.Join(mistakes...)
}

// check says what is wrong with an identity, and reads its token.
func (i *Identity) check(others map[string]*Identity) error {
	namespace, name, found := strings.Cut(i.Name, "/")
	if !found || !isLabel(namespace) || len(content.IsDNS1123Subdomain(name)) > 0 {
		return errors.New("has no name of the form NAMESPACE/NAME; write for example shop/haproxy")
	}
	if others[i.Name] != nil {
		return errors.New("is listed twice; write its namespaces into one entry")
	}
	for _, n := range i.Namespaces {
		if n != allNamespaces && !isLabel(n) {
			return fmt.Errorf("has %q among its namespaces, which is no namespace; write its name, or \"*\" for all", n)
		}
	}
	if i.TokenFile == "" {
		return nil
	}
	token, err := system.ReadFile(i.TokenFile, longestFile)
	if err != nil {
		return fmt.Errorf("has a token that cannot be read: %w", err)
	}
	if token = bytes.TrimSpace(token); len(token) < leastToken {
		return fmt.Errorf("has a token of %d characters, which could be guessed; write at least %d into %s", len(token), leastToken, i.TokenFile)
	}
	i.token = sha256.Sum256(token)
	for _, other := range others {
		if other.TokenFile != "" && other.token == i.token {
			return fmt.Errorf("has the token of %s; give each its own", other.Name)
		}
	}
	return nil
}

func isLabel(text string) bool { return len(content.IsDNS1123Label(text)) == 0 }

// current returns the identities as the files say them now.
func (i *Identities) current() map[string]*Identity {
	i.mu.Lock()
	defer i.mu.Unlock()
	if time.Since(i.checked) < every {
		return i.all
	}
	i.checked = time.Now()
	all, err := readIdentities(i.path)
	if i.problem = err; err == nil {
		i.all = all
	}
	return i.all
}

// Namespaces are those that a client may see, as the files say them now. "*" among them
// is every one. Without a file there are none.
func (i *Identities) Namespaces(name string) []string {
	if i == nil {
		return nil
	}
	if known := i.current()[name]; known != nil {
		return known.Namespaces
	}
	return nil
}

// Problem says why the newest version of the files is not in effect, nil if it is.
func (i *Identities) Problem() error {
	if i == nil {
		return nil
	}
	i.current()
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.problem
}

// Why a request has no identity.
var (
	errNoCredential = errors.New("no client certificate and no token was given; give one of them")
	errEnvoy        = errors.New("the client certificate is that of a fleet of Envoys, which may see no views; show one whose URI SAN has client in place of envoy")
	errUnknownToken = errors.New("the token is not in the list of identities")
)

// of returns the identity of a request; an error where it shows none, or a certificate
// that is not accepted any more. An identity that no list names sees nothing.
func (i *Identities) of(r *http.Request, trustDomain string, accepts func(*tls.ConnectionState) error) (*Identity, error) {
	all := i.current()
	if secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return byToken(all, secret)
	}
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil, errNoCredential
	}
	client, err := certificates.ClientOf(r.TLS.PeerCertificates[0], trustDomain)
	if err == nil && client.Kind != certificates.Other {
		err = errEnvoy
	}
	if err != nil {
		return nil, err
	}
	if err := accepts(r.TLS); err != nil {
		return nil, err
	}
	if known := all[client.String()]; known != nil {
		return known, nil
	}
	return &Identity{Name: client.String()}, nil
}

// byToken finds the identity of a token. It compares with each, so that the time it
// takes says nothing.
func byToken(all map[string]*Identity, secret string) (*Identity, error) {
	sum := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	var found *Identity
	for _, one := range all {
		if one.TokenFile != "" && subtle.ConstantTimeCompare(sum[:], one.token[:]) == 1 {
			found = one
		}
	}
	if found == nil {
		return nil, errUnknownToken
	}
	return found, nil
}
