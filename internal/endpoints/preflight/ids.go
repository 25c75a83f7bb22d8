package preflight

import "strings"

// ID names a kind of check; it is also its anchor in docs/reference/check.md.
// What stands before the first hyphen is its section.
type ID string

// The checks.
const (
	ConfigurationValid     ID = "configuration-valid"
	ConfigurationUnknown   ID = "configuration-unknown"
	ConfigurationSubnet    ID = "configuration-subnet"
	ConfigurationHealth    ID = "configuration-health"
	ConfigurationThreshold ID = "configuration-threshold"
	ConfigurationRemoval   ID = "configuration-removal"
	ConfigurationElection  ID = "configuration-election"
	ConfigurationDryRun    ID = "configuration-dry-run"

	DocumentsValid  ID = "documents-valid"
	DocumentsKind   ID = "documents-kind"
	DocumentsBounds ID = "documents-bounds"

	SourceRead    ID = "source-read"
	SourceRight   ID = "source-right"
	SourceToken   ID = "source-token"
	SourceExpiry  ID = "source-credential"
	SourceWarning ID = "source-warning"

	NodesUsable ID = "nodes-usable"
	NodesNode   ID = "nodes-node"

	APIAccess    ID = "api-access"
	APIReachable ID = "api-reachable"
	APIIdentity  ID = "api-identity"
	APIExpiry    ID = "api-credential"
	APIKubectl   ID = "api-kubectl"

	RightsServices   ID = "rights-services"
	RightsSlices     ID = "rights-endpointslices"
	RightsLeases     ID = "rights-leases"
	RightsEvents     ID = "rights-events"
	RightsNamespaces ID = "rights-namespaces"

	ServicePresent     ID = "service-present"
	ServiceSelector    ID = "service-selector"
	ServiceType        ID = "service-type"
	ServicePorts       ID = "service-ports"
	ServiceFamilies    ID = "service-families"
	ServiceTraffic     ID = "service-traffic-policy"
	ServiceTopology    ID = "service-topology"
	ServiceHeadless    ID = "service-headless"
	ServiceGranted     ID = "service-granted"
	ServiceAnnotations ID = "service-annotations"
	ServiceNetwork     ID = "service-network-policies"

	SlicesOurs   ID = "slices-ours"
	SlicesBeside ID = "slices-beside"

	ProbesAddress ID = "probes-address"
	ProbesNone    ID = "probes-none"
)

// Section is a group of checks.
type Section string

// The sections, in the order of the report.
const (
	Configuration Section = "configuration"
	Documents     Section = "documents"
	Source        Section = "source"
	Nodes         Section = "nodes"
	API           Section = "api"
	Rights        Section = "rights"
	Service       Section = "service"
	Slices        Section = "slices"
	Probes        Section = "probes"
)

// Sections lists the sections in the order of the report.
func Sections() []Section {
	return []Section{Configuration, Documents, Source, Nodes, API, Rights, Service, Slices, Probes}
}

// Title is the section's heading.
func (s Section) Title() string {
	switch s {
	case Configuration:
		return "Configuration"
	case Documents:
		return "Documents"
	case Source:
		return "Source"
	case Nodes:
		return "Nodes and subnet"
	case API:
		return "Local API server"
	case Rights:
		return "Rights"
	case Service:
		return "Service"
	case Slices:
		return "Slices"
	case Probes:
		return "Health checks"
	}
	return string(s)
}

func (id ID) section() Section {
	section, _, _ := strings.Cut(string(id), "-")
	return Section(section)
}
