package stream

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
)

// request is what a client asks for.
type request struct {
	watch, gather, ready bool
	namespaces           []string // none for all that it may see
	service              string
	token                string
	// timeout ends a stream; 0 where the client sets no bound.
	timeout time.Duration
}

// parameters are those that change something. What Kubernetes' own clients send
// besides is taken and changes nothing.
const parameters = "watch, gather, ready, namespace, service, resourceVersion, timeoutSeconds"

// parse reads the query; the error says what is wrong with it.
func parse(query url.Values) (request, error) {
	var r request
	for name, values := range query {
		var err error
		value := values[len(values)-1]
		switch name {
		case "watch":
			r.watch, err = truth(value)
		case "gather":
			r.gather, err = truth(value)
		case "ready":
			r.ready, err = truth(value)
		case "namespace":
			r.namespaces = strings.FieldsFunc(strings.Join(values, ","), func(c rune) bool { return c == ',' })
			if i := slices.IndexFunc(r.namespaces, func(n string) bool { return !isLabel(n) }); i >= 0 {
				err = fmt.Errorf("%q is no name of a namespace", r.namespaces[i])
			}
		case "service":
			r.service = value
		case "resourceVersion":
			if value != "0" {
				r.token = value
			}
		case "timeoutSeconds":
			var seconds uint64
			seconds, err = strconv.ParseUint(value, 10, 31)
			r.timeout = time.Duration(seconds) * time.Second
		case "allowWatchBookmarks", "sendInitialEvents", "resourceVersionMatch": // as every stream is
		default:
			return r, fmt.Errorf("%s is no parameter; there are %s", strconv.Quote(name), parameters)
		}
		if err != nil {
			return r, fmt.Errorf("%s=%s: %w", name, strconv.Quote(value), err)
		}
	}
	return r, nil
}

func truth(value string) (bool, error) {
	switch value {
	case "true", "1", "":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, errors.New("write true or false")
}

// allowed says why an identity may not ask that, nil if it may. A nil identity may
// see everything.
func (r request) allowed(identity *Identity) *refusal {
	if identity == nil {
		return nil
	}
	if len(identity.Namespaces) == 0 {
		return refuse(http.StatusForbidden, "Forbidden", "client %s may see no namespace; name it in the list of identities", identity.Name)
	}
	for _, namespace := range r.namespaces {
		if !identity.sees(namespace) {
			return refuse(http.StatusForbidden, "Forbidden", "client %s may not see namespace %s; the list of identities says which", identity.Name, namespace)
		}
	}
	return nil
}

// selection is what the cache is asked for.
func (r request) selection(identity *Identity) cache.Selection {
	return cache.Selection{
		Service: r.service, Gather: r.gather, Ready: r.ready,
		Namespace: func(namespace string) bool {
			return (len(r.namespaces) == 0 || slices.Contains(r.namespaces, namespace)) && (identity == nil || identity.sees(namespace))
		},
	}
}
