package settings

import (
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Documents are the folders of pools and bindings, which take the place of the one pool
// and the one target of variables.
type Documents struct {
	// Dir is empty for an installation by variables. What is in it is for others to read:
	// documents that are wrong end no program.
	Dir string `envconfig:"DOCUMENTS_DIR" example:"/etc/endpoints/documents" desc:"folder with EndpointPools and EndpointBindings, in files that end in .yaml, .yml or .json; read again when they change. It takes the place of every variable of the source, the remote cluster, the target, the health check and the guard"`
	// CredentialsDir has one folder for each name that pools give.
	CredentialsDir string `envconfig:"CREDENTIALS_DIR" example:"/etc/endpoints/credentials" desc:"folder with one folder for each name in spec.credentials of the pools, which holds kubeconfig, token, username and password, ca.crt; needs documents"`
	// API reads what the API server has beside what is in Dir.
	API bool `envconfig:"DOCUMENTS_API" default:"false" desc:"read EndpointPools and EndpointBindings from the API server too, and tell there what becomes of them. It has to have the CustomResourceDefinitions. Where a file in DOCUMENTS_DIR holds a document of the same name, the file counts. Without DOCUMENTS_DIR it takes the place of the same variables"`
	// BoundSubnets, BoundNamespaces and BoundPorts are what pools in the API server may
	// not go beyond.
	BoundSubnets    []string `envconfig:"BOUNDS_SUBNETS" everything:"0.0.0.0/0,::/0" format:"subnet" example:"10.0.0.0/16" desc:"address ranges that all subnets of pools in the API server must be inside; needed with DOCUMENTS_API=true"`
	BoundNamespaces []string `envconfig:"BOUNDS_NAMESPACES" everything:"*" format:"namespace" example:"shop,blog" desc:"namespaces that pools in the API server may allow, and whose bindings in the API server count; * is every namespace; needed with DOCUMENTS_API=true"`
	BoundPorts      []string `envconfig:"BOUNDS_PORTS" everything:"1-65535" format:"port-range" example:"30080,31000-31999" desc:"ports that pools in the API server may allow, as numbers and ranges; needed with DOCUMENTS_API=true"`
}

// Used reports whether documents take the place of variables.
func (d Documents) Used() bool { return d.Dir != "" || d.API }

// checkDocuments demands that a setting has one place: a variable of a pool or a target
// beside documents would have no effect. One that has its default is tolerated, because a
// manifest may well spell out every default.
func (l *loader) checkDocuments() {
	l.checkBounds()
	if !l.byDocuments() {
		if l.set("CREDENTIALS_DIR") {
			l.mistake("CREDENTIALS_DIR", "has no effect without DOCUMENTS_DIR or DOCUMENTS_API=true", "set one of them, or remove it")
		}
		return
	}
	carrier := "DOCUMENTS_DIR"
	if !l.set(carrier) {
		carrier = "DOCUMENTS_API=true"
	}
	for _, v := range l.variables {
		field := naming.Field(v.name)
		if field == "" {
			continue
		}
		for _, name := range []string{v.name, v.name + fileSuffix} {
			if l.set(name) && (!l.sound(name) || render(v) != v.tags.Get("default")) {
				l.mistake(name, "and "+carrier+" are both set", "remove one of them: with "+carrier+" this is "+field+" of a document")
			}
		}
	}
	if l.config.Documents.API && l.sound("DOCUMENTS_API", "STORE_KIND") && l.config.Store.Kind == StoreKubectl {
		l.mistake("DOCUMENTS_API", "contradicts STORE_KIND=kubectl, which fills one Service and watches nothing", "set STORE_KIND=client-go, or put the documents into DOCUMENTS_DIR")
	}
	if l.config.Leader.Election && !l.set("LEADER_ELECTION_NAMESPACE") {
		l.mistake("LEADER_ELECTION_NAMESPACE", "is required with LEADER_ELECTION=true and "+carrier+", and not set", "set it to the namespace of this installation")
	}
}

// checkBounds demands bounds where the API server carries documents: whoever may write
// them there may otherwise have everything published that a pool can name.
func (l *loader) checkBounds() {
	api := l.config.Documents.API
	for _, v := range l.variables {
		all := v.tags.Get("everything")
		switch {
		case all == "" || !l.sound("DOCUMENTS_API", v.name):
		case api && !l.set(v.name):
			l.mistake(v.name, "is required with DOCUMENTS_API=true, and not set", "set it to what pools in the API server may have at most; "+all+" is everything")
		case !api && l.set(v.name):
			l.mistake(v.name, "has no effect without DOCUMENTS_API=true", "set DOCUMENTS_API=true, or remove it")
		}
	}
}

// byDocuments reports whether documents take the place of variables. It is asked before
// all variables are read.
func (l *loader) byDocuments() bool {
	api, err := strconv.ParseBool(l.env["DOCUMENTS_API"])
	return l.set("DOCUMENTS_DIR") || err == nil && api
}
