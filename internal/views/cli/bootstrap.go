package cli

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// bootstrapCommand prints what an Envoy starts from.
func (p Program) bootstrapCommand() *cobra.Command {
	var b bootstrapFlags
	cmd := &cobra.Command{
		Use:   "bootstrap NAMESPACE/NAME",
		Short: "Print the file that an Envoy of a fleet starts from",
		Long: "Prints envoy.yaml for the Envoys of a fleet: where they ask for clusters, endpoints,\n" +
			"listeners and routes. With --certificates they show a certificate with the URI\n" +
			"spiffe://VIEWS_TRUST_DOMAIN/ns/NAMESPACE/envoy/NAME; then there are three files, which --out writes.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%d fleets: give the name of one, for example `bootstrap shop/edge --server endpoint-views.infra:18000`", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			b.of.Fleet, b.of.SecretsFolder = args[0], b.out
			return p.bootstrap(&b)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&b.server, "server", "127.0.0.1:18000", "HOST:PORT of XDS_ADDRESS as the Envoys reach it")
	flags.StringVar(&b.of.Node, "node", "", "name of the Envoy; leave it out where Envoy is given --service-node")
	flags.StringVar(&b.admin, "admin", "127.0.0.1:9901", "IP address and port of the admin page of the Envoys")
	flags.StringVar(&b.health, "health", "", "IP address and port of /ready and /stats/prometheus of the Envoys, for other machines; without it there is no such port")
	flags.StringVar(&b.of.CertificateFolder, "certificates", "", "folder with tls.crt, tls.key and ca.crt, as the Envoys see it")
	flags.StringToStringVar(&b.certificates, "listener-certificate", nil, "NAME=FOLDER of a certificate of listeners, tls.crt and tls.key, as the Envoys see it; may be repeated")
	flags.IntVar(&b.of.MaxConnections, "max-connections", mostConnections, "connections of clients that one Envoy has at a time; more are closed at once; 0 is no bound")
	flags.Uint64Var(&b.of.MaxHeapBytes, "max-heap-bytes", 0, "memory of one Envoy, at 95 % of which it accepts no more requests; set it below what the machine or the container gives; 0 is no bound")
	flags.StringVar(&b.out, "out", "", "folder that the files are written to, at the path at which the Envoys see it; made where it is missing")
	return cmd
}

// mostConnections is how many connections of clients an Envoy has where nothing is said.
// Without a bound one client could take the memory of all.
const mostConnections = 50_000

// bootstrapFlags is a bootstrap as flags say it.
type bootstrapFlags struct {
	of                         envoyconfig.Bootstrap
	server, admin, health, out string
	// certificates are folders of certificates of listeners, by name.
	certificates map[string]string
}

// bootstrap prints the file, or writes all files.
func (p Program) bootstrap(b *bootstrapFlags) error {
	if err := b.fill(); err != nil {
		return err
	}
	files, err := b.of.Files()
	if err == nil {
		err = addCertificates(files, b.certificates, b.out)
	}
	if err != nil {
		return err
	}
	if b.out == "" {
		_, err := p.Stdout.Write(files[envoyconfig.BootstrapFile])
		return err
	}
	if err := writeFiles(b.out, files); err != nil {
		return commandline.Exit(exitFailed, fmt.Errorf("write the files of --out=%s; name a folder that you may make or write to: %w", b.out, err))
	}
	return nil
}

// writeFiles writes files to a folder, which it makes where it is missing. Each file is the
// old or the new one at any time; the one that names the others comes last.
func writeFiles(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if name == envoyconfig.BootstrapFile {
			continue
		}
		if err := replace(filepath.Join(folder, name), text); err != nil {
			return err
		}
	}
	return replace(filepath.Join(folder, envoyconfig.BootstrapFile), files[envoyconfig.BootstrapFile])
}

// replace writes a file as a whole.
func replace(path string, text []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), ".next-*")
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}

// addCertificates adds the files that name the certificates of listeners.
func addCertificates(files map[string][]byte, certificates map[string]string, out string) error {
	if len(certificates) > 0 && out == "" {
		return errors.New("with --listener-certificate there are more files; say with --out where they go")
	}
	for name, folder := range certificates {
		if len(content.IsDNS1123Subdomain(name)) > 0 || !filepath.IsAbs(folder) {
			return fmt.Errorf("--listener-certificate=%s=%s is no name of a certificate and path of a folder; write for example shop-tls=/tls/shop", name, folder)
		}
		text, err := envoyconfig.ListenerSecret(name, folder)
		if err != nil {
			return err
		}
		files[envoyconfig.PodSecretFile(name)] = text
	}
	return nil
}

// fill reads the addresses.
func (b *bootstrapFlags) fill() error {
	host, text, err := net.SplitHostPort(b.server)
	number, noNumber := strconv.ParseUint(text, 10, 16)
	if err != nil || noNumber != nil {
		return fmt.Errorf("--server=%s is no HOST:PORT with the number of a port; write for example endpoint-views.infra:18000", b.server)
	}
	if b.of.Admin, err = netip.ParseAddrPort(b.admin); err != nil {
		return fmt.Errorf("--admin=%s is no IP address with a port; write for example 127.0.0.1:9901", b.admin)
	}
	if b.health != "" {
		if b.of.Health, err = netip.ParseAddrPort(b.health); err != nil {
			return fmt.Errorf("--health=%s is no IP address with a port; write for example 0.0.0.0:9902", b.health)
		}
	}
	switch {
	case b.of.MaxConnections < 0:
		return fmt.Errorf("--max-connections=%d is below 0; write a number, or 0 for no bound", b.of.MaxConnections)
	case b.of.CertificateFolder != "" && b.out == "":
		return errors.New("with --certificates there are three files; say with --out where they go")
	}
	b.of.Host, b.of.Port = host, uint16(number)
	return nil
}
