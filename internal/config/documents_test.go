package config_test

import (
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	spelled "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
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
		_, err := config.Load([]string{"DOCUMENTS_DIR=/documents", s.Variable + "=" + value})
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
	checkMistakes(t, env{"CREDENTIALS_DIR": "/credentials", "SECURED_SUBNET_CIDR": "10.0.0.0/24", "STATIC_NODES": "a=10.0.0.1", "TARGET_SERVICE_NAME": "web", "TARGET_PORT": "80"},
		`CREDENTIALS_DIR="/credentials": has no effect without DOCUMENTS_DIR; set DOCUMENTS_DIR, or remove it`)
}
