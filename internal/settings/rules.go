package settings

import (
	"fmt"
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
	if ports := tcpPorts(c.Target.Backends()); !l.set("HEALTH_CHECK_PORT") && c.Health.Mode != HealthOff && len(ports) == 1 {
		c.Health.Port = ports[0].Number
		l.origins["HEALTH_CHECK_PORT"] = Derived
	}
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

func tcpPorts(ports []Port) []Port {
	return slices.DeleteFunc(slices.Clone(ports), func(p Port) bool { return p.Protocol != TCP })
}

// check holds the variables against each other.
func (l *loader) check() {
	l.checkDocuments()
	if !l.byDocuments() {
		l.checkSource()
		l.checkTarget()
		l.checkHealthPort()
		l.checkHealthMode()
		l.checkTLS()
	}
	l.checkListen()
	l.checkLeader()
}

// checkListen finds one address that both listeners are meant to take: also where one of
// them takes every address. Port 0 is another one each time.
func (l *loader) checkListen() {
	admin, metrics := l.config.Listen.Admin, l.config.Listen.Metrics
	if !l.sound("ADMIN_ADDRESS", "METRICS_ADDRESS") || admin.Port() != metrics.Port() || admin.Port() == 0 {
		return
	}
	switch {
	case admin == metrics:
		l.mistake("METRICS_ADDRESS", "is the same as ADMIN_ADDRESS", "choose another port for one of them")
	case admin.Addr().IsUnspecified() || metrics.Addr().IsUnspecified():
		l.mistake("METRICS_ADDRESS", "has the port of ADMIN_ADDRESS ("+admin.String()+"), and one of them takes that port on every address", "choose another port for one of them")
	}
}

// checkSource demands what the chosen kind of source cannot do without.
func (l *loader) checkSource() {
	needs := map[SourceKind]string{
		SourceStatic:     "STATIC_NODES",
		SourceFile:       "INVENTORY_FILE_PATH",
		SourceCommand:    "INVENTORY_COMMAND",
		SourceKubernetes: "SECURED_KUBECONFIG",
	}
	kind := l.config.Source.Kind
	if kind == SourceIONOS && l.sound("SOURCE_KIND") {
		l.checkIONOS()
	}
	name, ok := needs[kind]
	if !ok || !l.sound("SOURCE_KIND") || l.set(name) {
		return
	}
	chosen := "SOURCE_KIND=" + string(kind)
	if !l.set("SOURCE_KIND") {
		chosen += " (the default)"
	}
	l.mistake(name, "is required with "+chosen+" and not set", "set it, for example to "+l.tag(name, "example"))
}

// checkIONOS demands the credentials, the place and the cluster. A secret may
// come from its file as well.
func (l *loader) checkIONOS() {
	const chosen = "is required with SOURCE_KIND=ionos and not set"
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
	if !l.set("IONOS_DATACENTER_ID") {
		l.mistake("IONOS_DATACENTER_ID", chosen, "copy the UUID of the data centre from the IONOS console")
	}
	if !l.set("IONOS_PRIVATE_LAN_ID") {
		l.mistake("IONOS_PRIVATE_LAN_ID", chosen, "set it, for example to "+l.tag("IONOS_PRIVATE_LAN_ID", "example"))
	}
	if !l.set("IONOS_CLUSTER_ID") && !l.set("SECURED_KUBECONFIG") {
		l.mistake("IONOS_CLUSTER_ID", chosen, "set it to the UUID of the managed cluster, or set SECURED_KUBECONFIG")
	}
	for _, m := range JudgeSelector(l.config.Secured.NodeSelector, l.config.Secured.Kubeconfig) {
		l.mistake(m.Variable, m.Rule, m.Remedy)
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

// tag returns a tag of a variable's field.
func (l *loader) tag(name, key string) string { return l.variables[l.place[name]].tags.Get(key) }

// longestSuffix is what further slices add to the name of the first one. Four
// digits stand for a million endpoints.
const longestSuffix = "-ipv6-9999"

// maxObjectName is Kubernetes' limit for the name of an object.
const maxObjectName = 253

func (l *loader) checkTarget() {
	target := l.config.Target
	if l.sound("TARGET_PORT", "TARGET_PORTS") {
		switch {
		case l.set("TARGET_PORT") && l.set("TARGET_PORTS"):
			l.mistake("TARGET_PORT", "and TARGET_PORTS are both set", "remove one of them")
		case !l.set("TARGET_PORT") && !l.set("TARGET_PORTS"):
			l.mistake("TARGET_PORT", "is required and not set", "set it to the port of the endpoints, for example 8080, or set TARGET_PORTS")
		}
	}
	if longest := maxObjectName - len(longestSuffix); l.sound("TARGET_ENDPOINTSLICE_NAME") && len(target.SliceName) > longest {
		l.mistake("TARGET_ENDPOINTSLICE_NAME", fmt.Sprintf("is longer than %d characters, which leaves no room for the suffix of further slices", longest), "choose a shorter name")
	}
	switch target.ManagedBy {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io", "controller":
		l.mistake("TARGET_MANAGED_BY", "is the name of another controller, which would overwrite the slices", "remove it, or choose a name of your own")
	}
}

// checkHealthPort demands a TCP port to check when there is none, or several.
func (l *loader) checkHealthPort() {
	health := l.config.Health
	if health.Mode == HealthOff || !l.sound("HEALTH_CHECK_MODE", "HEALTH_CHECK_PORT", "TARGET_PORT", "TARGET_PORTS") || l.set("HEALTH_CHECK_PORT") {
		return
	}
	ports := tcpPorts(l.config.Target.Backends())
	switch len(ports) {
	case 0:
		l.mistake("HEALTH_CHECK_PORT", "is required, because a health check needs a TCP port and TARGET_PORTS has none", "set it to a TCP port of the endpoints, or set HEALTH_CHECK_MODE=off")
	case 1:
	default:
		var numbers []string
		for _, port := range ports {
			numbers = append(numbers, fmt.Sprintf("%d (%s)", port.Number, port.Name))
		}
		l.mistake("HEALTH_CHECK_PORT", "is required, because TARGET_PORTS has several TCP ports", "set it to "+Listed(numbers, "or"))
	}
}

// checkHealthMode finds settings without effect. With HEALTH_CHECK_MODE=off all
// are tolerated, so that switching the check off for an hour is one change.
func (l *loader) checkHealthMode() {
	health := l.config.Health
	if l.sound("HEALTH_CHECK_INTERVAL", "HEALTH_CHECK_TIMEOUT") && health.Timeout > health.Interval {
		l.mistake("HEALTH_CHECK_TIMEOUT", "is longer than HEALTH_CHECK_INTERVAL ("+FormatDuration(health.Interval)+")", "write at most "+FormatDuration(health.Interval))
	}
	if l.set("HEALTH_CHECK_MODE") {
		return
	}
	// A path without the mode looks as if HTTP were checked, while dead workloads
	// behind an open port stay published.
	for _, name := range []string{"HEALTH_CHECK_PATH", "HEALTH_CHECK_HOST", "HEALTH_CHECK_EXPECTED_STATUS"} {
		if l.asks(name) {
			l.mistake(name, "has no effect, because HEALTH_CHECK_MODE is tcp by default", "set HEALTH_CHECK_MODE to http or https")
		}
	}
}

// asks reports whether a variable asks for something: set, sound and other than
// its default. A manifest may well spell out every default.
func (l *loader) asks(name string) bool {
	v := l.variables[l.place[name]]
	return l.set(name) && l.sound(name) && render(v) != v.tags.Get("default")
}

// checkTLS demands that settings of TLS are used, and that the authorities can
// be read.
func (l *loader) checkTLS() {
	health := l.config.Health
	if health.Mode == HealthOff || !l.sound("HEALTH_CHECK_MODE") {
		return
	}
	if health.Mode != HealthHTTPS {
		for _, v := range l.variables {
			if strings.HasPrefix(v.name, "HEALTH_CHECK_TLS_") && l.asks(v.name) {
				l.mistake(v.name, "has no effect with HEALTH_CHECK_MODE="+string(health.Mode), "set HEALTH_CHECK_MODE=https, or remove it")
			}
		}
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

// checkLeader demands a cluster that can hold the lease and the slices.
func (l *loader) checkLeader() {
	if l.config.Leader.Election && l.sound("LEADER_ELECTION", "STORE_KIND") && l.config.Store.Kind == StoreMemory {
		l.mistake("LEADER_ELECTION", "needs a cluster, and STORE_KIND=memory writes to none", "set STORE_KIND to client-go or kubectl, or remove LEADER_ELECTION")
	}
}
