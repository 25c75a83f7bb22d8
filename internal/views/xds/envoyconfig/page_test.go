package envoyconfig_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

//go:generate go test . -run TestThePageOfListenersIsGenerated -update

const (
	types = "../../../../api/fleet/v1alpha1"
	page  = "../../../../docs/reference/listeners.md"
)

// TestThePageOfListenersIsGenerated makes the tables of the page from the types, and the rest of
// the texts below.
func TestThePageOfListenersIsGenerated(t *testing.T) {
	golden.Check(t, page, head+
		"\n## A listener\n\n"+table(t, "Listener")+aboutListener+
		"\n## A route\n\n"+aboutRoute+table(t, "Route")+
		"\n## TLS of a listener\n\n"+table(t, "ListenerTLS")+aboutTLS+
		"\n## Spec of Envoy\n\n"+table(t, "EnvoySpec")+
		"\n### service\n\n"+table(t, "EnvoyService")+
		"\n### podTemplate\n\nOther fields of a Pod are the operator's.\n\n"+table(t, "EnvoyPodTemplate")+
		"\n### xds\n\nThe Service then leads port 80 to 8080, and the condition Synced is Unknown.\n\n"+table(t, "EnvoyXDS")+
		tail, "go generate ./internal/views/xds/envoyconfig")
}

// table has a row for each field of a type.
func table(t *testing.T, name string) string {
	t.Helper()
	rows := "| field | default | meaning |\n|---|---|---|\n"
	for _, f := range structure(t, name).Fields.List {
		tag, _, _ := strings.Cut(regexp.MustCompile(`json:"([^"]*)"`).FindStringSubmatch(f.Tag.Value)[1], ",")
		if tag == "-" {
			continue
		}
		meaning, fallback := "", "**required**"
		for line := range strings.Lines(f.Doc.Text()) {
			line = strings.TrimSpace(line)
			value, isDefault := strings.CutPrefix(line, "+kubebuilder:default=")
			switch {
			case isDefault:
				fallback = strings.Trim(value, `"`)
			case line == "+optional":
				fallback = ""
			case !strings.HasPrefix(line, "+"):
				meaning += " " + line
			}
		}
		if meaning = strings.TrimSpace(meaning); !strings.HasSuffix(meaning, ".") {
			t.Errorf("%s.%s: the page needs a sentence, got %q", name, tag, meaning)
		}
		rows += fmt.Sprintf("| `%s` | %s | %s |\n", tag, fallback, strings.ReplaceAll(meaning, "*", `\*`))
	}
	return rows
}

// structure finds a type in the files of the API.
func structure(t *testing.T, name string) *ast.StructType {
	t.Helper()
	for _, file := range []string{"envoy.go", "listener.go", "pods.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), types+"/"+file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			i := slices.IndexFunc(general.Specs, func(s ast.Spec) bool {
				named, isType := s.(*ast.TypeSpec)
				return isType && named.Name.Name == name
			})
			if i >= 0 {
				return general.Specs[i].(*ast.TypeSpec).Type.(*ast.StructType)
			}
		}
	}
	t.Fatalf("there is no type %s", name)
	return nil
}

const head = `<!-- Generated from api/fleet/v1alpha1 by "go generate ./internal/views/xds/envoyconfig". Do not edit. -->

# Listeners of a fleet

What the Envoys of a fleet listen on, and what they do with requests. The kind Envoy (` + "`fleet.ablmnzde.github.io/v1alpha1`" + `) has ` + "`spec.listeners`" + `; the file of [` + "`XDS_FLEETS_FILE`" + `](endpoint-views-configuration.md#xds) has a list for each fleet. Where both name a fleet, the file counts.

` + "```yaml" + `
# in the file; an object has the same list below spec
fleets:
- name: shop/edge
  listeners:
  - {name: http, port: 8080, httpsRedirectPort: 443, routes: [{pathPrefix: /.well-known/acme-challenge, service: acme}]}
  - name: https
    port: 8443
    tls: {secretNames: [shop-tls]}
    routes:
    - {hosts: [shop.example.com], service: web}
    - {hosts: [shop.example.com], pathPrefix: /api, service: api, requestTimeout: 30s}
  - {name: db, port: 5432, protocol: TCP, service: db}
` + "```" + `

**To close all ports of a fleet, leave the fleet and empty its list.** A fleet that both no longer name keeps its listeners. A fleet with a mistake keeps its last good version. All mistakes are reported at once, each with its rule and remedy: in the log, by ` + "`endpoint-views check`" + ` for the file, by ` + "`endpoint-views explain --client`" + ` for both.
`

const aboutListener = `
Each Service needs the annotation ` + "`endpoints.ablmnzde.github.io/views: \"true\"`" + `. If it is missing, or the fleet may not use it, requests are answered with 503.

In the file, ` + "`name`" + ` is not required, ` + "`port`" + ` is the port of the proxies themselves, and there are three more fields:

| field | default | meaning |
|---|---|---|
| ` + "`address`" + ` | 0.0.0.0 | Of a listener: the address that the proxies listen on. ` + "`\"::\"`" + ` is every address of both families. |
| ` + "`folder`" + ` | that of the Pods | Of a fleet: where the proxies find the files of certificates. |
| ` + "`accessLog`" + ` | Failures | Of a fleet: as in the spec of Envoy. |
`

const aboutRoute = `The most specific host decides: an exact name, then ` + "`*.example.com`" + `, the longer one first, then routes without hosts. Of one host the longest path counts. If no route of the host fits, the request is redirected or answered with 404; routes of other hosts are not tried.

`

const aboutTLS = `
Keys never pass through the control plane: a proxy reads them from files, and reads them again when they change. Pods of the operator have these files. For an Envoy by hand, ` + "`endpoint-views bootstrap FLEET --listener-certificate NAME=FOLDER --out DIRECTORY`" + ` writes them.
`

const tail = `
## What the Service says

| of the Service | what proxies do |
|---|---|
| ` + "`appProtocol`: `kubernetes.io/h2c`, `h2c`, `http2`, `grpc`" + ` | speak HTTP/2 to the endpoints, otherwise HTTP/1.1. A WebSocket needs HTTP/1.1. |
| ` + "`appProtocol`: `https`, `kubernetes.io/wss`, `wss`, `grpcs`" + ` | speak [TLS to the endpoints](#tls-to-endpoints), with HTTP/2 for ` + "`grpcs`" + `. A listener of TCP passes on the TLS of its clients. |
| annotation ` + "`endpoints.ablmnzde.github.io/proxy-protocol`: `v1` or `v2`" + ` | begin each connection to the endpoints with a PROXY header that names the client. |

The cluster of an Envoy is ` + "`web.shop:443`" + `, with TLS ` + "`web.shop:443:tls`" + `; metrics and access log call it ` + "`web/shop/443`" + `.

## TLS to endpoints

Annotations of the Service, ` + "`endpoints.ablmnzde.github.io/...`" + `. Without the first or the last, requests are answered with 503, and the answer names the annotation.

| annotation | default | meaning |
|---|---|---|
| ` + "`tls-certificate-authority`" + ` | | Certificates in PEM, one after another. One of them must have signed the endpoint's certificate. |
| ` + "`tls-server-name`" + ` | the host that the client asks for | The name that the endpoint's certificate must have, or an IP address. |
| ` + "`tls-insecure-skip-verify`" + ` | | **Unsafe:** ` + "`\"true\"`" + ` accepts any certificate. It has no effect beside ` + "`tls-certificate-authority`" + `. |

` + "```sh" + `
kubectl -n shop annotate service web \
  endpoints.ablmnzde.github.io/tls-certificate-authority="$(cat ca.crt)" \
  endpoints.ablmnzde.github.io/tls-server-name=worker.internal
` + "```" + `

A change needs no restart. To renew the authority, write the old and the new one, renew the certificates, then remove the old one. If the text is no certificate, proxies keep their authorities, ` + "`Rejected`" + ` and the alert EndpointViewsConfigurationRejected report it, and a new proxy has no way to this Service. The access log has the reason of a failed check in ` + "`endpoint_failure`" + `.

## Always so

- ` + "`.` and `..`" + ` in paths are resolved before a route is chosen, so ` + "`/x/../api`" + ` does not pass by the route of ` + "`/api`" + `; ` + "`//` and `%2F`" + ` stay.
- Headers ` + "`x-envoy-*`" + ` of clients do not count. WebSocket is passed on. The access log leaves out the query.
- The headers of a request may take 10 s, a TLS handshake 10 s.
- One connection of HTTP/2 has at most 100 requests at a time; 64 KiB of each and 1 MiB of all wait in the proxy.
- Beyond ` + "`maxConnections`" + ` (by hand ` + "`--max-connections`" + `) new connections are closed at once. ` + "`/ready`" + ` still answers.
- With a limit of memory, a proxy frees memory at 90 %, closes connections after their request at 92 %, and refuses requests at 95 %; it stays ready.
`
