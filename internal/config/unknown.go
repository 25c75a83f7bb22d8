package config

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// checkUnknown reports variables that look like ours and are not: those with a
// prefix of ours, and those that are a slip away from one of ours. Their values
// are never shown, because a misspelt secret is a secret.
func (l *loader) checkUnknown() {
	known := l.names()
	prefixes := ownPrefixes(known)
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if slices.Contains(known, name) || slices.Contains(l.config.Command.Env, name) || belongsToOthers(name, l.env[name]) {
			continue
		}
		near := nearest(name, known)
		ours := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if !ours && !isSlip(name, near) {
			continue
		}
		remedy := "remove it; or name it in INVENTORY_COMMAND_ENV, if it is for the inventory command"
		if near != "" {
			remedy = "did you mean " + near + "?"
		}
		l.add(name, problem{rule: "is no variable of this program", remedy: remedy, hide: true})
	}
}

// isSlip reports whether a name without a prefix of ours is one of ours
// misspelt: at most two edits away, which is what two swapped letters are. Short
// names must share their first word too, or GLOG_LEVEL would be LOG_LEVEL.
func isSlip(name, near string) bool {
	first, _, ok := strings.Cut(near, "_")
	if !ok || levenshtein.ComputeDistance(name, near) > 2 {
		return false
	}
	return len(near) > len("LOG_FORMAT") || strings.HasPrefix(name, first+"_")
}

// ownPrefixes derives from the known names the prefixes that are ours: the
// first word of a name of two words, the first two of a longer one, as in
// SOURCE_ and HEALTH_CHECK_.
func ownPrefixes(known []string) []string {
	var prefixes []string
	for _, name := range known {
		words := strings.SplitAfter(name, "_")
		prefix := strings.Join(words[:min(len(words)-1, 2)], "")
		switch prefix {
		case "", "LOG_", "DRY_", "KUBECTL_":
			// Others use them too: kubectl itself, and half of all programs.
		default:
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// belongsToOthers reports whether a variable has a prefix of ours by chance.
func belongsToOthers(name, value string) bool {
	switch name {
	case "SECURED_SUBNET_PREFIX", // read by the inventory script
		"SOURCE_DATE_EPOCH": // reproducible builds; set in every Nix shell
		return true
	}
	return isServiceLink(name, value)
}

var (
	linkURL     = regexp.MustCompile(`^(tcp|udp|sctp)://`)
	linkHost    = regexp.MustCompile(`_SERVICE_HOST$`)
	linkNumber  = regexp.MustCompile(`_SERVICE_PORT(_[A-Z0-9_]+)?$`)
	linkPort    = regexp.MustCompile(`_PORT(_[0-9]+_(TCP|UDP|SCTP))?$`)
	linkDetails = regexp.MustCompile(`_PORT_[0-9]+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)$`)
	digitsOnly  = regexp.MustCompile(`^[0-9]+$`)
)

// isServiceLink reports whether Kubernetes injected the variable into the Pod
// for a Service of the namespace. Where the name could be somebody's guess at
// one of ours (ADMIN_PORT), the value decides.
func isServiceLink(name, value string) bool {
	switch {
	case linkDetails.MatchString(name):
		return true
	case linkHost.MatchString(name):
		_, err := netip.ParseAddr(value)
		return err == nil
	case linkNumber.MatchString(name):
		return digitsOnly.MatchString(value)
	case linkPort.MatchString(name):
		return linkURL.MatchString(value)
	}
	return false
}

// isLinkTo reports whether one of our own variables holds what Kubernetes
// injects for a Service that happens to be named like it.
func isLinkTo(name, value string) bool {
	return strings.HasSuffix(name, "_PORT") && linkURL.MatchString(value)
}

// serviceName is the name of the Service for which Kubernetes sets a variable.
func serviceName(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(variable, "_PORT"), "_", "-"))
}

// nearest returns the word that was probably meant: one that differs in at most
// three letters and a third of all, or else one that is the beginning of the
// other. It is empty if no word is near.
func nearest(word string, words []string) string {
	best, least := "", min(len(word)/3, 3)+1
	for _, candidate := range words {
		if distance := levenshtein.ComputeDistance(word, candidate); distance < least {
			best, least = candidate, distance
		}
	}
	if best != "" {
		return best
	}
	least = len(word) + maxShown
	for _, candidate := range words {
		related := strings.HasPrefix(candidate, word) || strings.HasPrefix(word, candidate)
		if distance := levenshtein.ComputeDistance(word, candidate); related && distance < least {
			best, least = candidate, distance
		}
	}
	return best
}
