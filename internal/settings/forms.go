package settings

// Form is the form of a value, as the tag format names it.
type Form string

// The forms that variables and documents have in common.
const (
	FormLabel    Form = "dns-label"
	FormName     Form = "dns-subdomain"
	FormSelector Form = "selector"
	FormHost     Form = "host"
	FormPath     Form = "url-path"
	FormUUID     Form = "uuid"
	FormSubnet   Form = "subnet"
	FormStatus   Form = "statuses"
	FormPorts    Form = "port-range"
	FormDuration Form = "duration"
)

// forms hold a value against each form. The rules for Kubernetes' names are those of its
// API server.
var forms = map[Form]func(string) error{
	FormLabel:        dnsLabel,
	FormName:         dnsSubdomain,
	FormSelector:     selector,
	FormHost:         host,
	FormPath:         urlPath,
	FormUUID:         uuid,
	FormSubnet:       subnet,
	FormStatus:       statuses,
	"status":         parsing(parseStatuses),
	FormPorts:        parsing(parsePorts),
	FormDuration:     parsing(parseDuration),
	"arguments":      parsing(Args),
	"label-value":    labelValue,
	"api-url":        apiURL,
	"namespace":      namespace,
	"node":           node,
	"port":           port,
	"program":        program,
	"remote-service": remoteService,
	"variable":       variableName,
	"annotation":     annotation,
	"host-port":      hostPort,
	"image":          image,
	"server-url":     serverURL,
}

// demand returns the problem of a value that is not as it has to be.
func demand(holds bool, rule, remedy string) error {
	if holds {
		return nil
	}
	return Problem{Rule: rule, Remedy: remedy}
}

// parsing is the form of what a function parses.
func parsing[T any](parse func(string) (T, error)) func(string) error {
	return func(value string) error {
		_, err := parse(value)
		return err
	}
}

// Problems returns what is wrong with a value of that form, in the words of the
// variables: nothing where it is sound.
func Problems(form Form, value string) []Problem {
	return problems(forms[form](value))
}
