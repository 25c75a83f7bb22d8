package e2e_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// inAPI moves the documents into the API server, where they are alone: this program reads
// those of all namespaces, and says of each what becomes of it.
func (p *platform) inAPI() *platform {
	p.t.Helper()
	p.withKinds()
	p.install()
	p.kubectl("", "delete", "endpointpools,endpointbindings", "--all", "--all-namespaces")
	p.kubectl(p.command(nil, "config", "show", "-o", "documents").stdout, "apply", "--filename", "-")
	p.removeFiles()
	delete(p.env, "DOCUMENTS_DIR")
	p.applied = true
	return p
}

// mount replaces one file of the folder, whichever carrier has the other documents: the
// API server takes no pool that runs a program.
func (p *platform) mount(name, text string) {
	p.t.Helper()
	p.env["DOCUMENTS_DIR"] = p.folder
	p.replace(name, text)
}

// bound lets documents of the API server name these namespaces, and no others. Files have
// no bounds.
func (p *platform) bound(namespaces ...string) {
	if p.applied {
		p.env["BOUNDS_NAMESPACES"] = strings.Join(namespaces, ",")
	}
}

// asks makes a Service that asks for a pool: by a binding where documents are objects, so
// that a status has to follow, and by an annotation elsewhere.
func (p *platform) asks(service, pool string) {
	p.t.Helper()
	if !p.applied {
		p.service(service, chosen("pool", pool))
		return
	}
	p.service(service, nil)
	p.binding(service, pool)
}

// wantTold waits until the condition Accepted of a binding begins like that. Files have no
// status.
func (p *platform) wantTold(binding, want string) {
	p.t.Helper()
	if !p.applied {
		return
	}
	var got string
	p.until(func() bool {
		got = p.said("endpointbinding/"+binding, "Accepted")
		return strings.HasPrefix(got, want)
	}, func() string { return fmt.Sprintf("%s: got %q, want %q", binding, got, want) })
}

// breaks puts a mistake into the documents of pool blue and binding web, and returns what
// a program says that starts then.
func (p *platform) breaks() (says string) {
	p.t.Helper()
	says = "a document is wrong and has no good version, its published endpoints stay"
	blue := strings.Replace(p.poolText("blue", p.nodes, "["+p.namespace+"]", ""), "subnets:", "subnetz:", 1)
	web := "spec: ["
	if p.applied { // an object has a name always, and the bounds are in place of the subnets
		says += " and are checked"
		web = strings.Replace(p.bindingText("web", "blue"), "pools:", "poolz:", 1)
		p.accepts(blue, web)
	}
	p.write("blue.yaml", blue)
	p.write("binding-web.yaml", web)
	return says
}

// accepts lets the API server store documents that this program refuses, as the definitions
// of a newer version do.
func (p *platform) accepts(texts ...string) {
	p.t.Helper()
	for _, kind := range []string{poolKind, bindingKind} {
		p.define(kind, func(schema map[string]any) {
			spec := within(p.t, schema, "properties", "spec")
			spec["x-kubernetes-preserve-unknown-fields"] = true
			delete(spec, "required")
			delete(spec, "x-kubernetes-validations")
		})
	}
	for _, text := range texts { // the definition is in force some moments later
		p.until(func() bool {
			_, err := p.kubectlTries(text, "apply", "--dry-run=server", "--filename", "-")
			return err == nil
		}, func() string { return "the API server still refuses " + text })
	}
}

// statuses are the writes of the status of pools and bindings so far.
func (p *platform) statuses() []controlplane.AuditEvent {
	p.t.Helper()
	return ofStatuses(p.writes())
}

// ofStatuses are the requests about what documents say of themselves.
func ofStatuses(all []controlplane.AuditEvent) []controlplane.AuditEvent {
	return slices.DeleteFunc(all, func(e controlplane.AuditEvent) bool { return e.Subresource != "status" })
}

// wantSettled waits until the status of every object says all that there is to say of a
// platform where all is well, so that another write would be one too many. Files have no status.
func (p *platform) wantSettled() {
	p.t.Helper()
	if !p.applied {
		return
	}
	const conditions = `{range .status.conditions[*]} {.type}={.status}{end}{"\n"}{end}`
	const want = `blue: 3 nodes, 2 Services, Accepted=True SourceReady=True Held=False
green: 2 nodes, 2 Services, Accepted=True SourceReady=True Held=False
secret: 0 nodes, 0 Services, Accepted=True SourceReady=Unknown Held=False
both: 5/5 Accepted=True Programmed=True Ready=True Held=False
web: 3/3 Accepted=True Programmed=True Ready=True Held=False
`
	var got string
	p.until(func() bool {
		got = p.kubectl("", "get", "endpointpools", "--output", `jsonpath={range .items[*]}{.metadata.name}: {.status.nodes} nodes, {.status.services} Services,`+conditions) +
			p.kubectl("", "get", "--namespace", p.namespace, "endpointbindings", "--output", `jsonpath={range .items[*]}{.metadata.name}: {.status.ready}`+conditions)
		return got == want
	}, func() string { return fmt.Sprintf("got\n%s\nwant\n%s", got, want) })
}
