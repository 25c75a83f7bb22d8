package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// versionCommand says which build this is.
func (p Program) versionCommand() *cobra.Command {
	var out commandline.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			v := p.thisVersion()
			return out.Print(p.Stdout, v, v.String()+"\n")
		},
	}
	commandline.OutputFlag(cmd, &out)
	return cmd
}

// version is what the version command prints.
type version struct {
	APIVersion string `json:"apiVersion"`
	Version    string `json:"version"`
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
}

// thisVersion is the version of this build.
func (p Program) thisVersion() version {
	return version{APIVersion: report.APIVersion, Version: p.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}

// String is what version prints as text, and --version.
func (v version) String() string {
	return fmt.Sprintf("ionos-endpointslice-controller %s (%s %s/%s)", v.Version, v.Go, v.OS, v.Arch)
}
