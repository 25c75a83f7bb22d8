package settings

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// derive fills in the defaults that follow from other variables.
func (l *loader) derive() {
	c := l.config
	l.environments()
	if l.byDocuments() {
		return // nothing else that would follow is used
	}
	if !l.set("TARGET_ENDPOINTSLICE_NAME") && l.sound("TARGET_SERVICE_NAME") {
		c.Target.SliceName = c.Target.ServiceName + "-remote"
		l.origins["TARGET_ENDPOINTSLICE_NAME"] = Derived
	}
	if !l.set("LEADER_ELECTION_NAMESPACE") {
		c.Leader.Namespace = c.Target.Namespace
		l.origins["LEADER_ELECTION_NAMESPACE"] = Derived
	}
	l.deriveTimes()
}

// deriveTimes has the default of the interval or of the timeout follow the one that is
// set: no default contradicts what somebody chose.
func (l *loader) deriveTimes() {
	health := &l.config.Health
	if !l.sound("HEALTH_CHECK_INTERVAL", "HEALTH_CHECK_TIMEOUT") || health.Timeout <= health.Interval {
		return
	}
	switch {
	case !l.set("HEALTH_CHECK_TIMEOUT"):
		health.Timeout = health.Interval
		l.origins["HEALTH_CHECK_TIMEOUT"] = Derived
	case !l.set("HEALTH_CHECK_INTERVAL"):
		health.Interval = health.Timeout
		l.origins["HEALTH_CHECK_INTERVAL"] = Derived
	}
}

// check holds the variables against each other.
func (l *loader) check() {
	l.checkDocuments()
	if !l.byDocuments() {
		l.checkSource()
		l.checkRemoteService()
		l.checkTarget()
		l.checkHealth()
	}
	l.apart("METRICS_ADDRESS", l.config.Listen.Metrics, "ADMIN_ADDRESS", l.config.Listen.Admin)
	l.checkLeader()
}

// apart finds one address that two listeners are meant to take: also where one of them takes
// every address. Port 0 is another one each time.
func (l *loader) apart(name string, address netip.AddrPort, other string, taken netip.AddrPort) {
	if !l.sound(name, other) || address.Port() != taken.Port() || address.Port() == 0 {
		return
	}
	switch {
	case address == taken:
		l.mistake(name, "is the same as "+other, "choose another port for one of them")
	case address.Addr().IsUnspecified() || taken.Addr().IsUnspecified():
		l.mistake(name, "has the port of "+other+" ("+taken.String()+"), and one of them takes that port on every address", "choose another port for one of them")
	}
}

// checkSource demands what the chosen kind of source cannot do without.
func (l *loader) checkSource() {
	if !l.sound("SOURCE_KIND") {
		return
	}
	kind := l.config.Source.Kind
	chosen := "is required with SOURCE_KIND=" + string(kind) + " and not set"
	if !l.set("SOURCE_KIND") {
		chosen = "is required with SOURCE_KIND=" + string(kind) + " (the default) and not set"
	}
	for _, v := range l.variables {
		l.refuse(v.tags.Get("source") == string(kind) && !l.set(v.name), v.name, chosen, "set it, for example to "+v.tags.Get("example"))
	}
	if kind == SourceIONOS {
		l.checkIONOS(chosen)
	}
}

// checkIONOS demands the credentials and the cluster. A secret may come from its file as
// well.
func (l *loader) checkIONOS(chosen string) {
	access := l.config.IONOS
	if l.sound("IONOS_TOKEN", "IONOS_TOKEN_FILE") && !access.Token.IsSet() {
		switch {
		case !l.set("IONOS_USERNAME") && !access.Password.IsSet():
			l.mistake("IONOS_TOKEN", chosen, "set it or IONOS_TOKEN_FILE, or IONOS_USERNAME and IONOS_PASSWORD")
		case !l.set("IONOS_USERNAME"):
			l.mistake("IONOS_USERNAME", "is required with IONOS_PASSWORD and not set", "set it, or set IONOS_TOKEN instead of both")
		case l.sound("IONOS_PASSWORD", "IONOS_PASSWORD_FILE") && !access.Password.IsSet():
			l.mistake("IONOS_PASSWORD", "is required with IONOS_USERNAME and not set", "set it or IONOS_PASSWORD_FILE, or set IONOS_TOKEN instead of both")
		}
	}
	l.refuse(!l.set("IONOS_CLUSTER_ID") && !l.set("SECURED_KUBECONFIG"), "IONOS_CLUSTER_ID", chosen, "set it to the UUID of the managed cluster, or set SECURED_KUBECONFIG")
	for _, m := range JudgeSelector(l.config.Secured.NodeSelector, l.config.Secured.Kubeconfig) {
		l.mistake(m.Variable, m.Rule, m.Remedy)
	}
}

// checkRemoteService demands nodes that come from the cluster that has the Service.
func (l *loader) checkRemoteService() {
	kind := l.config.Source.Kind
	switch {
	case !l.set("REMOTE_SERVICE") || !l.sound("REMOTE_SERVICE", "SOURCE_KIND", "SECURED_KUBECONFIG"):
	case kind != SourceKubernetes && kind != SourceIONOS:
		l.mistake("REMOTE_SERVICE", "has no effect with SOURCE_KIND="+string(kind)+", whose nodes come from no kubeconfig", "set SOURCE_KIND to kubernetes or ionos, or remove it")
	default:
		l.needs("SECURED_KUBECONFIG", "REMOTE_SERVICE", true)
	}
}

// JudgeSelector demands labels that are known where the nodes of the IONOS Cloud come
// from: the API of managed clusters tells the labels of node pools, not those of nodes.
// A text that is no selector was reported where it was read.
func JudgeSelector(text, kubeconfig string) (mistakes Mistakes) {
	const pool = "endpoints.ablmnzde.github.io/node-pool"
	selector, err := labels.Parse(text)
	if err != nil {
		return nil
	}
	add := func(rule, remedy string) {
		mistakes = append(mistakes, Mistake{Variable: "SECURED_NODE_SELECTOR", Value: text, Rule: rule, Remedy: remedy})
	}
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		switch key := requirement.Key(); {
		case kubeconfig != "" && key == pool:
			add("selects by the label "+key+", which nodes do not have; only IONOS_CLUSTER_ID without SECURED_KUBECONFIG provides it",
				"select by a label that the nodes have, or remove SECURED_KUBECONFIG")
		case kubeconfig == "" && key != pool && !knownOfPool(key):
			add("selects by the label "+key+", which the IONOS API does not report; with IONOS_CLUSTER_ID alone only labels of node pools are known",
				"select by a label of the node pools or by "+pool+"=NAME, or set SECURED_KUBECONFIG")
		}
	}
	return mistakes
}

// knownOfPool reports whether the IONOS API can tell a label of a node: one that
// follows from what it says of the node, or one that a node pool can have. Labels
// with reserved prefixes are set by kubelet or cloud controller and are unknown.
func knownOfPool(key string) bool {
	switch key {
	case "kubernetes.io/hostname", "topology.kubernetes.io/zone",
		"enterprise.cloud.ionos.com/node-id", "enterprise.cloud.ionos.com/datacenter-id",
		"node.kubernetes.io/exclude-from-external-load-balancers",
		"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master":
		return true
	}
	prefix, _, prefixed := strings.Cut(key, "/")
	return !prefixed || !slices.ContainsFunc([]string{"kubernetes.io", "k8s.io", "cloud.ionos.com"}, func(reserved string) bool {
		return prefix == reserved || strings.HasSuffix(prefix, "."+reserved)
	})
}

func (l *loader) checkTarget() {
	if l.sound("TARGET_PORT", "TARGET_PORTS") {
		switch {
		case l.set("TARGET_PORT") && l.set("TARGET_PORTS"):
			l.mistake("TARGET_PORT", "and TARGET_PORTS are both set", "remove one of them")
		case !l.set("TARGET_PORT") && !l.set("TARGET_PORTS"):
			l.mistake("TARGET_PORT", "is required and not set", "set it to the port of the endpoints, for example 8080, or set TARGET_PORTS")
		}
	}
	switch l.config.Target.ManagedBy {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io", "controller":
		l.mistake("TARGET_MANAGED_BY", "is the name of another controller, which would overwrite the slices", "remove it, or choose a name of your own")
	}
}

// checkHealth finds settings without effect, and reads the authorities. With
// HEALTH_CHECK_MODE=off all are tolerated, so that switching the check off for an hour is
// one change.
func (l *loader) checkHealth() {
	health := l.config.Health
	if health.Mode == HealthOff || !l.sound("HEALTH_CHECK_MODE") {
		return
	}
	for _, v := range l.variables {
		switch v.tags.Get("mode") {
		case "http":
			// A path without the mode looks as if HTTP were checked, while dead workloads
			// behind an open port stay published.
			l.refuse(!l.set("HEALTH_CHECK_MODE") && l.asks(v), v.name, "has no effect, because HEALTH_CHECK_MODE is tcp by default", "set HEALTH_CHECK_MODE to http or https")
		case "https":
			l.refuse(health.Mode != HealthHTTPS && l.asks(v), v.name, "has no effect with HEALTH_CHECK_MODE="+string(health.Mode), "set HEALTH_CHECK_MODE=https, or remove it")
		}
	}
	if health.Mode != HealthHTTPS {
		return
	}
	if health.TLSInsecure && l.set("HEALTH_CHECK_TLS_CA_FILE") {
		l.mistake("HEALTH_CHECK_TLS_INSECURE", "contradicts HEALTH_CHECK_TLS_CA_FILE", "remove one of them")
		return
	}
	if _, err := health.RootCAs(); err != nil {
		l.mistake("HEALTH_CHECK_TLS_CA_FILE", "does not name a file with certificates: "+cause(err).Error(), "name a PEM file that this process may read")
	}
}

// asks reports whether a variable asks for something: set, sound and other than
// its default. A manifest may well spell out every default.
func (l *loader) asks(v variable) bool {
	return l.set(v.name) && l.sound(v.name) && render(v) != v.tags.Get("default")
}

// checkLeader demands a cluster that can hold the lease and the slices.
func (l *loader) checkLeader() {
	l.refuse(l.config.Leader.Election && l.sound("LEADER_ELECTION", "STORE_KIND") && l.config.Store.Kind == StoreMemory, "LEADER_ELECTION",
		"needs a cluster, and STORE_KIND=memory writes to none", "set STORE_KIND to client-go or kubectl, or remove LEADER_ELECTION")
}
