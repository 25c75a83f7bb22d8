package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/certificates"
)

// certificatesCommand makes and renews certificates once. A Job of the chart runs it.
func (p Program) certificatesCommand() *cobra.Command {
	var wanted wantedCertificates
	cmd := &cobra.Command{
		Use:   "certificates",
		Short: "Make and renew the certificates of the server and of fleets, as Secrets",
		Long: "Makes an authority, the certificate of `serve` and one for each fleet, as Secrets, and renews\n" +
			"those that are due: run it every hour. It changes only Secrets that it made. The programs\n" +
			"and the Envoys read a renewed one without a restart. A new authority is trusted for a day\n" +
			"before it signs.",
		Args: cobra.NoArgs,
		RunE: p.configured(func(ctx context.Context, c settings.Views) error {
			o, err := wanted.options()
			if err != nil {
				return err
			}
			return p.certificates(ctx, c, o)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&wanted.authority, "authority", "", "NAMESPACE/NAME of the Secret with the authority and its key; needed")
	flags.StringVar(&wanted.server, "server", "", "NAMESPACE/NAME of the Secret with the certificate of `serve`; needed")
	flags.StringSliceVar(&wanted.names, "server-name", nil, "name by which clients reach `serve`; may be repeated, needed")
	flags.StringVar(&wanted.token, "token", "", "NAMESPACE/NAME of a Secret with a token for the operator of fleets")
	flags.StringArrayVar(&wanted.fleets, "fleet", nil, "NAMESPACE/NAME of a fleet, or NAMESPACE/NAME=SECRET; without SECRET it is NAME-xds; may be repeated")
	return cmd
}

// wantedCertificates are those that flags ask for.
type wantedCertificates struct {
	authority, server, token string
	names, fleets            []string
}

// options reads the flags.
func (w wantedCertificates) options() (certificates.SecretOptions, error) {
	o := certificates.SecretOptions{ServerNames: w.names}
	if len(w.names) == 0 {
		return o, errors.New("--server-name is needed; write for example endpoint-views.infra.svc")
	}
	var mistakes [3]error
	o.Authority, mistakes[0] = objectName("--authority", w.authority)
	o.Server, mistakes[1] = objectName("--server", w.server)
	if w.token != "" {
		o.Token, mistakes[2] = objectName("--token", w.token)
	}
	if err := errors.Join(mistakes[:]...); err != nil {
		return o, err
	}
	for _, text := range w.fleets {
		name, secret, named := strings.Cut(text, "=")
		fleet, err := objectName("--fleet", name)
		if err != nil {
			return o, err
		}
		if !named {
			secret = fleet.Name + "-xds"
		}
		if len(content.IsDNS1123Subdomain(secret)) > 0 {
			return o, fmt.Errorf("--fleet=%s names no Secret; write for example shop/edge=edge-xds", text)
		}
		o.Fleets = append(o.Fleets, certificates.FleetSecret{Fleet: fleet, Secret: types.NamespacedName{Namespace: fleet.Namespace, Name: secret}})
	}
	return o, nil
}

// objectName reads NAMESPACE/NAME.
func objectName(flag, text string) (types.NamespacedName, error) {
	namespace, name, _ := strings.Cut(text, "/")
	if len(content.IsDNS1123Label(namespace)) > 0 || len(content.IsDNS1123Subdomain(name)) > 0 {
		return types.NamespacedName{}, fmt.Errorf("%s=%s is no NAMESPACE/NAME; write for example %s=infra/endpoint-views", flag, text, flag)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func (p Program) certificates(ctx context.Context, c settings.Views, o certificates.SecretOptions) error {
	client, err := kube.New(kube.Options{Way: p.way(c, false), UserAgent: "endpoint-views-certificates/" + p.Version})
	if err != nil {
		return err
	}
	defer client.Close()
	log := p.logger(c.Log, nil)
	o.Client, o.TrustDomain, o.Written = client, c.Stream.TrustDomain, func(name types.NamespacedName) { log.Info("written", "secret", name.String()) }
	if err := certificates.Renew(ctx, o, time.Now()); err != nil {
		return commandline.Exit(exitFailed, err)
	}
	return nil
}
