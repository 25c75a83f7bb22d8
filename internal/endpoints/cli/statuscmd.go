package cli

import (
	"time"

	"github.com/spf13/cobra"
)

// statusPause is how often status --wait looks again.
const statusPause = time.Second

// statusCommand shows what the daemon last saw and decided.
func (p Program) statusCommand() *cobra.Command {
	l := &lookup{Program: p, command: "status"}
	cmd := &cobra.Command{
		Use:   "status [-n NAMESPACE [SERVICE] | -A]",
		Short: "Show what is published and why; exit status 1 if something is wrong",
		Long: "Asks the daemon that runs with this configuration, at ADMIN_ADDRESS, what it last\n" +
			"saw and decided. If no daemon answers, the command reads source and slices and\n" +
			"checks the endpoints itself, writes nothing, and says so.\n\n" +
			"Exit status: 0 if the document says healthy, as the status page does: every node\n" +
			"that should be published is ready, the source can be read, all is written, and\n" +
			"nothing else needs attention. A daemon that stands by answers with the document of\n" +
			"the leader. 1 if not healthy, or if no leader answers. With --wait the command\n" +
			"repeats until the exit status is 0.\n\n" +
			"Without an argument it is about the only Service. Where there are several,\n" +
			"-n NAMESPACE SERVICE shows one of them, and -A the pools and all Services, the worst\n" +
			"first; -n NAMESPACE those of a namespace. Healthy then means that every pool and\n" +
			"every Service is. As json and yaml it is -A unless a Service is named.",
		Example: "  ionos-endpointslice-controller status\n" +
			"  ionos-endpointslice-controller status -n shop web\n" +
			"  ionos-endpointslice-controller status -A -o wide",
		Args: l.scope.takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}
	l.flags(cmd)
	cmd.Flags().BoolVar(&l.wait, "wait", false, "wait until the exit status is 0")
	return cmd
}
