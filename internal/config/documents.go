package config

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
)

// Documents are the folders of pools and bindings, which take the place of the one pool
// and the one target of variables.
type Documents struct {
	// Dir is empty for an installation by variables. What is in it is for others to read:
	// documents that are wrong end no program.
	Dir string `envconfig:"DOCUMENTS_DIR" example:"/etc/endpoints/documents" desc:"folder with EndpointPools and EndpointBindings, in files that end in .yaml, .yml or .json; read again when they change. It takes the place of every variable of the source, the remote cluster, the target, the health check and the guard"`
	// CredentialsDir has one folder for each name that pools give.
	CredentialsDir string `envconfig:"CREDENTIALS_DIR" example:"/etc/endpoints/credentials" desc:"folder with one folder for each name in spec.credentials of the pools, which holds kubeconfig, token, username and password, ca.crt; needs DOCUMENTS_DIR"`
}

// Used reports whether documents take the place of variables.
func (d Documents) Used() bool { return d.Dir != "" }

// checkDocuments demands that a setting has one place: a variable of a pool or a target
// beside documents would have no effect. One that has its default is tolerated, because a
// manifest may well spell out every default.
func (l *loader) checkDocuments() {
	if !l.byDocuments() {
		if l.set("CREDENTIALS_DIR") {
			l.mistake("CREDENTIALS_DIR", "has no effect without DOCUMENTS_DIR", "set DOCUMENTS_DIR, or remove it")
		}
		return
	}
	fields := map[string]string{}
	for _, s := range setting.All() {
		fields[s.Variable] = s.Field
	}
	for _, v := range l.variables {
		field := fields[v.name]
		if field == "" {
			continue
		}
		names := []string{v.name}
		if _, secret := v.secret(); secret {
			names = append(names, v.name+fileSuffix)
		}
		for _, name := range names {
			if l.set(name) && (len(names) > 1 || !slices.Contains(l.defaults(), name)) {
				l.mistake(name, "and DOCUMENTS_DIR are both set", "remove one of them: with DOCUMENTS_DIR this is "+field+" of a document")
			}
		}
	}
	if l.config.Leader.Election && !l.set("LEADER_ELECTION_NAMESPACE") {
		l.mistake("LEADER_ELECTION_NAMESPACE", "is required with LEADER_ELECTION=true and DOCUMENTS_DIR, and not set", "set it to the namespace of this installation")
	}
}

// byDocuments reports whether documents take the place of variables.
func (l *loader) byDocuments() bool { return l.set("DOCUMENTS_DIR") }

// defaults lists the variables that are set to what they are without being set.
func (l *loader) defaults() []string {
	var names []string
	for _, v := range l.variables {
		if l.set(v.name) && l.sound(v.name) && render(v) == v.tags.Get("default") {
			names = append(names, v.name)
		}
	}
	return names
}
