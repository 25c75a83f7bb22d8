package preflight

import "strings"

// ID names a kind of check; it is also its anchor in docs/reference/check.md.
// What stands before the first hyphen is its area.
type ID string

// The checks.
const (
	ConfigurationValid   ID = "configuration-valid"
	ConfigurationUnusual ID = "configuration-unusual"

	DocumentsValid ID = "documents-valid"

	SourceRead   ID = "source-read"
	SourceRight  ID = "source-right"
	SourceExpiry ID = "source-credential"

	NodesUsable   ID = "nodes-usable"
	NodesNode     ID = "nodes-node"
	NodesNodePort ID = "nodes-nodeport"
	NodesRemote   ID = "nodes-remote-service"

	APIReachable ID = "api-reachable"
	APIExpiry    ID = "api-credential"
	APIKubectl   ID = "api-kubectl"
	APIReplicas  ID = "api-replicas"

	RightsGranted ID = "rights-granted"

	ServiceValid   ID = "service-valid"
	ServiceClients ID = "service-clients"

	SlicesOurs   ID = "slices-ours"
	SlicesBeside ID = "slices-beside"
	SlicesKept   ID = "slices-kept"

	ProbesAddress ID = "probes-address"
	ProbesNone    ID = "probes-none"
)

// Areas lists the areas in the order of the report.
func Areas() []string {
	return []string{"configuration", "documents", "source", "nodes", "api", "rights", "service", "slices", "probes"}
}

func (id ID) area() string {
	area, _, _ := strings.Cut(string(id), "-")
	return area
}

// needs are the checks without which an area cannot be judged: one that fails is shown.
func needs(area string) []ID {
	switch area {
	case "nodes":
		return []ID{SourceRead}
	case "rights", "slices":
		return []ID{APIReachable}
	case "service":
		return []ID{SourceRead, APIReachable}
	case "probes":
		return []ID{SourceRead, NodesUsable, APIReachable}
	}
	return nil
}
