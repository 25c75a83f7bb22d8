package settings

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// checkUnknown reports variables that look like ours and are not: a misspelling
// of one of ours is a mistake, and a name that only begins like ours is a
// warning, because it may belong to another program. Their values are never
// shown, because a misspelt secret is a secret.
func (l *loader) checkUnknown() {
	known := slices.Sorted(maps.Keys(l.place)) // twins of secrets included
	prefixes := ownPrefixes(known)
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if slices.Contains(known, name) || slices.Contains(l.config.Command.Env, name) || belongsToOthers(name, l.env[name]) {
			continue
		}
		near := Nearest(name, known)
		ours := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		switch {
		case !ours && isSlip(name, near), ours && isMisspelt(name, near):
			l.add(name, Problem{Rule: "is not a variable of this program", Remedy: "did you mean " + near + "?", hide: true})
		case ours && !(l.config.Source.Kind == SourceCommand && forInventoryCommand(name)):
			remedy := "if it belongs to another program, leave it; `config docs` lists those of this one"
			if near != "" {
				remedy = "did you mean " + near + "? If it belongs to another program, leave it"
			}
			l.warnings = append(l.warnings, Mistake{Variable: name, Rule: "is not a variable of this program and has no effect", Remedy: remedy})
		}
	}
}

// isMisspelt reports whether a name with a prefix of ours is one of ours
// misspelt: at most two edits away, which is what two swapped letters are, or
// three where the name is long. IONOS_API_KEY is three edits from IONOS_API_URL.
func isMisspelt(name, near string) bool {
	const long = 15
	distance := levenshtein.ComputeDistance(name, near)
	return distance <= 2 || distance == 3 && len(near) >= long
}

// isSlip reports whether a name without a prefix of ours is one of ours
// misspelt: at most two edits away. Short names must share their first word too,
// or GLOG_LEVEL would be LOG_LEVEL.
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
		case "", "LOG_", "DRY_", "KUBECTL_", "REMOTE_":
			// Many other programs use them too.
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

// serviceLink is what Kubernetes puts into the environment of a Pod for each Service of the
// namespace. Where the name could be one of ours, or a misspelling (ADMIN_PORT), the value
// decides.
var serviceLink = regexp.MustCompile(`_SERVICE_HOST=[0-9a-f.:]+$|_SERVICE_PORT(_[A-Z0-9_]+)?=[0-9]+$|_PORT(_[0-9]+_(TCP|UDP|SCTP))?=(tcp|udp|sctp)://|_PORT_[0-9]+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)=`)

func isServiceLink(name, value string) bool { return serviceLink.MatchString(name + "=" + value) }

// serviceName is the name of the Service for which Kubernetes sets a variable.
func serviceName(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(variable, "_PORT"), "_", "-"))
}

// Nearest returns the word that was probably meant: one that differs in at most
// three letters and a third of all, or else one that is the beginning of the
// other. It is empty if no word is near.
func Nearest(word string, words []string) string {
	best, least := "", min(len(word)/3, 3)+1
	for _, candidate := range words {
		if apart(word, candidate) >= least {
			continue
		}
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
		if distance := apart(word, candidate); related && distance < least {
			best, least = candidate, distance
		}
	}
	return best
}

// apart is how many letters one word has more than the other, the least by which they differ.
func apart(a, b string) int { return max(len(a), len(b)) - min(len(a), len(b)) }
