package variables

import (
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
)

// fieldOf is the field that replaces a variable; empty where it stays one.
func fieldOf(variable string) string {
	for _, s := range setting.All() {
		if s.Variable == strings.TrimSuffix(variable, "_FILE") || s.Variable == variable {
			return s.Field
		}
	}
	return ""
}

// leaf reports whether a setting is one value of a pool, spelled alike in both forms.
func leaf(s setting.Setting) bool {
	switch s.Variable {
	case "SOURCE_KIND", "STATIC_NODES", "INVENTORY_COMMAND_ARGS", "SECURED_SUBNET_CIDR", "SECURED_NODE_SELECTOR", "HEALTH_CHECK_MODE":
		return false
	}
	return strings.HasPrefix(s.Field, "spec.healthCheck.") || strings.HasPrefix(s.Field, "spec.guard.") ||
		strings.HasPrefix(s.Field, "spec.source.") || s.Field == "spec.pollInterval"
}

// plain reports whether a setting is a number or a truth value, which has no quotes.
func plain(variable string) bool {
	switch variable {
	case "IONOS_PRIVATE_LAN_ID",
		"HEALTH_CHECK_PORT", "HEALTH_CHECK_RISE", "HEALTH_CHECK_FALL", "HEALTH_CHECK_HOLD_CONNECTION", "HEALTH_CHECK_TLS_INSECURE",
		"HEALTH_CHECK_MAX_SILENT_PERCENT", "HEALTH_CHECK_FAIL_OPEN", "EMPTY_RESULT_THRESHOLD", "MAX_REMOVAL_PERCENT":
		return true
	}
	return false
}

// used reports whether a variable has an effect: those of other sources, and of requests
// that a TCP check does not send, have none.
func (w *writer) used(s setting.Setting) bool {
	if group, ok := strings.CutPrefix(s.Field, "spec.source."); ok {
		kind, _, _ := strings.Cut(group, ".")
		return kind == string(w.config.Source.Kind)
	}
	mode := w.config.Health.Mode
	switch s.Variable {
	case "HEALTH_CHECK_PATH", "HEALTH_CHECK_HOST", "HEALTH_CHECK_EXPECTED_STATUS":
		return mode != config.HealthTCP
	case "HEALTH_CHECK_TLS_SERVER_NAME", "HEALTH_CHECK_TLS_INSECURE":
		return mode == config.HealthHTTPS || mode == config.HealthOff
	}
	return true
}

// modeWord spells a mode as documents do.
func modeWord(mode string) string {
	for _, word := range words() {
		if word.Variable == mode {
			return word.Document
		}
	}
	return mode
}

// words are the modes of a health check in both forms.
func words() []setting.Word {
	for _, s := range setting.All() {
		if s.Variable == "HEALTH_CHECK_MODE" {
			return s.Words
		}
	}
	return nil
}
