package settings_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	spelled "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

func TestDocumentsNeedNoVariableOfAPoolOrATarget(t *testing.T) {
	t.Parallel()
	c := load(t, env{"DOCUMENTS_DIR": "/documents", "CREDENTIALS_DIR": "/credentials"})
	if !c.Documents.Used() || c.Documents.CredentialsDir != "/credentials" {
		t.Errorf("got %+v", c.Documents)
	}
	// A manifest may spell out every default.
	load(t, env{"DOCUMENTS_DIR": "/documents", "HEALTH_CHECK_MODE": "tcp", "TARGET_NAMESPACE": "default", "HEALTH_CHECK_TIMEOUT": "1s", "DRY_RUN": "true"})
}

func TestASettingHasOnePlace(t *testing.T) {
	t.Parallel()
	for _, s := range spelled.All() {
		value, field := "x", s.Field
		if s.Field == "" {
			continue
		}
		_, err := environment.Load([]string{"DOCUMENTS_DIR=/documents", s.Variable + "=" + value})
		if err == nil || !strings.Contains(err.Error(), "and DOCUMENTS_DIR are both set; remove one of them: with DOCUMENTS_DIR this is "+field+" of a document") {
			t.Errorf("%s: got %v", s.Variable, err)
		}
	}
}

func TestMistakesOfDocumentsNameBothVariables(t *testing.T) {
	t.Parallel()
	checkMistakes(t, env{"DOCUMENTS_DIR": "/documents", "IONOS_TOKEN": "x", "DRAIN_PERIOD": "1m"},
		"IONOS_TOKEN: and DOCUMENTS_DIR are both set; remove one of them: with DOCUMENTS_DIR this is spec.credentials of a document",
		`DRAIN_PERIOD="1m": and DOCUMENTS_DIR are both set; remove one of them: with DOCUMENTS_DIR this is spec.guard.drainPeriod of a document`)
	checkMistakes(t, env{"DOCUMENTS_DIR": "/documents", "STORE_KIND": "client-go", "LEADER_ELECTION": "true"},
		"LEADER_ELECTION_NAMESPACE: is required with LEADER_ELECTION=true and DOCUMENTS_DIR, and not set; set it to the namespace of this installation")
	checkMistakes(t, env{"DOCUMENTS_API": "true", "STORE_KIND": "kubectl", "BOUNDS_SUBNETS": "10.0.0.0/8", "BOUNDS_NAMESPACES": "*", "BOUNDS_PORTS": "80"},
		`DOCUMENTS_API="true": contradicts STORE_KIND=kubectl, which fills one Service and watches nothing; set STORE_KIND=client-go, or put the documents into DOCUMENTS_DIR`)
	checkMistakes(t, env{"CREDENTIALS_DIR": "/credentials", "BOUNDS_LEAVING": "pay", "SECURED_SUBNET_CIDR": "10.0.0.0/24", "STATIC_NODES": "a=10.0.0.1", "TARGET_SERVICE_NAME": "web", "TARGET_PORT": "80"},
		`CREDENTIALS_DIR="/credentials": has no effect without DOCUMENTS_DIR or DOCUMENTS_API=true; set one of them, or remove it`,
		`BOUNDS_LEAVING="pay": has no effect without DOCUMENTS_DIR or DOCUMENTS_API=true; set one of them, or remove it`)
}

// Contract 81: pools in the API server have bounds, or there are none.
func TestContract81DocumentsInTheAPIServerNeedBounds(t *testing.T) {
	t.Parallel()
	bounded := func(more env) env {
		all := env{"BOUNDS_SUBNETS": "10.0.0.0/8", "BOUNDS_NAMESPACES": "shop,*", "BOUNDS_PORTS": "80,31000-31999"}
		maps.Copy(all, more)
		return all
	}
	c := load(t, bounded(env{"DOCUMENTS_API": "true"}))
	if got := strings.Join(c.Documents.BoundPorts, ","); !c.Documents.Used() || got != "80,31000-31999" {
		t.Errorf("got %+v, ports %s", c.Documents, got)
	}
	checkMistakes(t, env{"DOCUMENTS_API": "true"},
		"BOUNDS_SUBNETS: is required with DOCUMENTS_API=true, and not set; set it to what pools in the API server may have at most; 0.0.0.0/0,::/0 is everything",
		"BOUNDS_NAMESPACES: is required with DOCUMENTS_API=true, and not set; set it to what pools in the API server may have at most; * is everything",
		"BOUNDS_PORTS: is required with DOCUMENTS_API=true, and not set; set it to what pools in the API server may have at most; 1-65535 is everything")
	checkMistakes(t, bounded(env{"DOCUMENTS_DIR": "/documents", "BOUNDS_PORTS": "90-80,x"}),
		`BOUNDS_SUBNETS="10.0.0.0/8": has no effect without DOCUMENTS_API=true; set DOCUMENTS_API=true, or remove it`,
		`BOUNDS_NAMESPACES="shop,*": has no effect without DOCUMENTS_API=true; set DOCUMENTS_API=true, or remove it`,
		`BOUNDS_PORTS="90-80,x": 90-80 ends before it begins; write 80-90`,
		`BOUNDS_PORTS="90-80,x": "x" is not a port from 1 to 65535 or a range of them; write for example 30080 or 31000-31999`)
	checkMistakes(t, bounded(env{"DOCUMENTS_API": "true", "SOURCE_KIND": "file"}),
		`SOURCE_KIND="file": and DOCUMENTS_API=true are both set; remove one of them: with DOCUMENTS_API=true this is spec.source of a document`)
}
