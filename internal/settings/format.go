package settings

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"
)

func dnsLabel(value string) error {
	return demand(len(content.IsDNS1123Label(value)) == 0, "is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends)", "write for example "+exampleName(value, 63))
}

func dnsSubdomain(value string) error {
	return demand(len(content.IsDNS1123Subdomain(value)) == 0, "is not a DNS name (at most 253 of a-z, 0-9, - and ., a letter or digit at both ends of each part)", "write for example "+exampleName(value, 253))
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// exampleName turns a value into the nearest name that the rules allow.
func exampleName(value string, longest int) string {
	name := notInNames.ReplaceAllString(strings.ToLower(value), "-")
	name = name[:min(len(name), longest)]
	if name = strings.Trim(name, "-"); name == "" {
		return "web"
	}
	return name
}

// remoteService is the form of REMOTE_SERVICE.
func remoteService(value string) error {
	namespace, name, _ := strings.Cut(value, "/")
	return demand(dnsLabel(namespace) == nil && dnsLabel(name) == nil, "is not namespace/name of a Service, both DNS labels", "write for example shop/web")
}

func labelValue(value string) error {
	return demand(len(content.IsLabelValue(value)) == 0, "is not a label value (at most 63 of letters, digits, -, _ and ., a letter or digit at both ends)", "write for example "+exampleName(value, 63))
}

func selector(value string) error {
	_, err := labels.Parse(value)
	return demand(err == nil, "is not a label selector", "write for example pool=web,tier!=edge")
}

func host(value string) error {
	if addr, err := netip.ParseAddr(value); err == nil && addr.Zone() == "" {
		return nil
	}
	if len(content.IsDNS1123Subdomain(strings.ToLower(value))) == 0 {
		return nil
	}
	p := Problem{Rule: "is not a host name or IP address", Remedy: "write for example web.example.com"}
	if name, port, ok := strings.Cut(value, ":"); ok && strings.Trim(port, "0123456789") == "" {
		p.Remedy = "write " + name + "; HEALTH_CHECK_PORT sets the port"
	}
	return p
}

func urlPath(value string) error {
	if !strings.HasPrefix(value, "/") {
		p := Problem{Rule: "does not begin with /", Remedy: "write for example /healthz"}
		if !strings.Contains(value, ":") {
			p.Remedy = "write /" + value
		}
		return p
	}
	if strings.ContainsAny(value, "# \t\r\n") {
		return Problem{Rule: "holds a space or a fragment", Remedy: "write a path as it stands in a request, with %20 for a space"}
	}
	if _, err := url.ParseRequestURI(value); err != nil {
		return Problem{Rule: "is not the path of a URL", Remedy: "write for example /healthz"}
	}
	escaped := notASCII.ReplaceAllStringFunc(value, url.PathEscape)
	return demand(escaped == value, "holds a character that is not ASCII", "write "+escaped)
}

// notASCII is a character that a request holds as %XX only.
var notASCII = regexp.MustCompile(`[^\x00-\x7f]`)

// apiURL checks the address of the IONOS Cloud API; its scheme may be left out, and so
// may its path.
func apiURL(value string) error {
	const ours = "https://api.ionos.com"
	full := value
	if !strings.Contains(value, "://") {
		full = "https://" + value
	}
	parsed, err := webURL(full, ours)
	if p := (Problem{}); errors.As(err, &p) {
		if p.hide {
			p.Remedy = "set IONOS_TOKEN, or IONOS_USERNAME and IONOS_PASSWORD"
		}
		return p
	}
	name := parsed.Hostname()
	_, version, found := strings.Cut(parsed.Path+"/", "/cloudapi/")
	switch {
	case full != value && parsed.Port() == "" && !strings.ContainsAny(name, ".:"):
		return Problem{Rule: "is one word without a scheme", Remedy: "write for example " + ours}
	case found && strings.Trim(version, "/") != "v6":
		return Problem{Rule: "has the path of another version of the API", Remedy: "write for example " + ours}
	}
	return nil
}

// webURL parses the address of a server of HTTP. Credentials in it would be printed with it, so
// they are refused without repeating them, also where a part of them would be taken for
// the host: https://user:12/34@h is the port 12 of the host user.
func webURL(value, example string) (*url.URL, error) {
	example = "write for example " + example
	if strings.Contains(value, "@") || strings.Contains(value, "%40") {
		return nil, Problem{Rule: "holds credentials", Remedy: "leave them out", hide: true}
	}
	parsed, err := url.Parse(value)
	if err != nil || parsed.Hostname() == "" {
		return nil, Problem{Rule: "is not a URL", Remedy: example}
	}
	port, wrong := strconv.ParseUint(cmp.Or(parsed.Port(), "443"), 10, 16)
	last := parsed.Hostname()[strings.LastIndex(parsed.Hostname(), ".")+1:]
	_, notIP := netip.ParseAddr(parsed.Hostname())
	switch {
	case parsed.Scheme != "https" && parsed.Scheme != "http":
		return nil, Problem{Rule: "has a scheme other than https and http", Remedy: example}
	case host(parsed.Hostname()) != nil || notIP != nil && strings.Trim(last, "0123456789") == "":
		return nil, Problem{Rule: "has a host that is neither a host name nor an IP address", Remedy: example}
	case wrong != nil || port == 0:
		return nil, Problem{Rule: "has a port outside 1 to 65535", Remedy: example}
	case strings.ContainsAny(value, "?#"):
		return nil, Problem{Rule: "holds more than scheme, host and path", Remedy: example}
	}
	return parsed, nil
}

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// uuid checks an identifier of the IONOS Cloud, which becomes part of a URL's
// path.
func uuid(value string) error {
	return demand(uuidForm.MatchString(value), "is not a UUID", "copy the UUID from the IONOS console; it looks like 0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e")
}

// program checks the name of a program to run. One with a space in it is
// nearly always a whole command line.
func program(value string) error {
	name, rest, found := strings.Cut(value, " ")
	return demand(!found && !strings.ContainsAny(value, "\t\r\n\x00"), "holds a space; it names the program only and no shell runs",
		"write "+strconv.Quote(name)+" and set INVENTORY_COMMAND_ARGS to "+strconv.Quote(rest)+"; for a path with spaces, make a link")
}
