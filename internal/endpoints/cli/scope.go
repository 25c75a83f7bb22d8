package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// scope is which Services a command is about: all, those of a namespace, or one. The zero
// scope is that of an installation that fills one Service.
type scope struct {
	all       bool
	namespace string
	// service is empty for all of the namespace.
	service string
}

// scopeFlags adds -n and -A to a command.
func scopeFlags(cmd *cobra.Command, s *scope) {
	cmd.Flags().StringVarP(&s.namespace, "namespace", "n", "", "the Services of this namespace, or the SERVICE that is named")
	cmd.Flags().BoolVarP(&s.all, "all-namespaces", "A", false, "all Services")
}

// takes returns what checks the arguments of a command: a SERVICE where there is a
// namespace, then so many subjects, one or none.
func (s *scope) takes(subjects int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		command, more := cmd.Name(), len(args)-subjects
		switch {
		case s.all && s.namespace != "":
			return fmt.Errorf("-A and -n exclude each other: `%s -A` is about all Services, `%s -n NAMESPACE SERVICE` about one", command, command)
		case more < 0:
			return errors.New("no node to explain: give the name or id of a node, or an address, for example `explain worker-1` or `explain 10.0.0.11`; `status` lists them")
		case s.namespace != "" && more > 1:
			return fmt.Errorf("%d arguments: give one Service at a time", len(args))
		case s.namespace != "" && more == 1:
			s.service = args[0]
		case more > 0 && subjects > 0:
			return fmt.Errorf("%d nodes to explain: give one node or address at a time", len(args))
		case more > 0:
			return fmt.Errorf("a Service needs its namespace: `%s -n NAMESPACE %s`", command, args[0])
		}
		return nil
	}
}

// many reports whether the command is about any number of Services.
func (s scope) many() bool { return s.all || s.namespace != "" && s.service == "" }

// listed makes the scope all Services where programs read the output and no Service is named:
// a second Service must not change its shape.
func (s *scope) listed(out commandline.Format) {
	s.all = s.all || *s == scope{} && (out == commandline.JSON || out == commandline.YAML)
}

// has reports whether the scope has a Service in it.
func (s scope) has(key assign.Key) bool {
	return (s.namespace == "" || key.Namespace == s.namespace) && (s.service == "" || key.Service == s.service)
}

// String names the scope.
func (s scope) String() string {
	switch {
	case s.service != "":
		return "Service " + strings.TrimPrefix(s.namespace+"/"+s.service, "/")
	case s.namespace != "":
		return "namespace " + s.namespace
	}
	return "all Services"
}

// errNoScope says that a command has to be told which Service it is about.
func errNoScope(command string, subject string) error {
	with := func(flags string) string { return strings.TrimSpace("`"+command+" "+flags+" "+subject) + "`" }
	return errors.New("there are several Services: name one with " + with("-n NAMESPACE SERVICE") + ", or take all with " + with("-A"))
}

// check holds the scope against the configuration: with variables there is one Service, which
// is the scope where there is none.
func (s *scope) check(c settings.Config) error {
	t := c.Target
	switch {
	case c.Documents.Used():
		return nil
	case *s == scope{}:
		s.namespace, s.service = t.Namespace, t.ServiceName
		return nil
	case s.has(assign.Key{Namespace: t.Namespace, Service: t.ServiceName}):
		return nil
	}
	return commandline.Exit(ExitUsage, fmt.Errorf("this configuration fills Service %s/%s (TARGET_NAMESPACE and TARGET_SERVICE_NAME), not %s", t.Namespace, t.ServiceName, s))
}
