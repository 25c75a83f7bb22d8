package cli

import "github.com/spf13/cobra"

// explainCommand answers why a node or an address is, or is not, in a slice.
func (p Program) explainCommand() *cobra.Command {
	l := &lookup{Program: p, command: "explain", needs: "NODE|IP"}
	cmd := &cobra.Command{
		Use:   "explain [-n NAMESPACE [SERVICE] | -A] NODE|IP",
		Short: "Say why a node or an address is in a slice or not; exit status 1 if it is not ready",
		Long: "Shows what each stage decided on a node, by its name or id, or on an address, with\n" +
			"the actual values, and what to do.\n\n" +
			"Asks the daemon that runs with this configuration, at ADMIN_ADDRESS: it knows how\n" +
			"often checks passed or failed, which endpoints are kept or drain, and what left\n" +
			"within ten minutes. A daemon that stands by answers with what the leader knows. If\n" +
			"no daemon or no leader answers, the command reads source and slices and checks the\n" +
			"endpoints itself, writes nothing, and says so.\n\n" +
			"Without -n and -A it asks for the only Service. Where there are several,\n" +
			"-n NAMESPACE SERVICE asks for one of them, and -A says it for every Service;\n" +
			"-n NAMESPACE for those of a namespace. Exit status 0 means that each Service that\n" +
			"knows the node or address publishes it ready. As json and yaml it is -A unless a\n" +
			"Service is named, and a list in any case.",
		Example: "  ionos-endpointslice-controller explain worker-1\n" +
			"  ionos-endpointslice-controller explain -n shop web 10.0.0.12\n" +
			"  ionos-endpointslice-controller explain -A 10.0.0.12",
		Args: l.scope.takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l.subject = args[len(args)-1]
			return l.run(cmd.Context())
		},
	}
	l.flags(cmd)
	return cmd
}
