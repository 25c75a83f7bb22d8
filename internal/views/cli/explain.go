package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// explainCommand answers why an address is, or is not, behind a Service.
func (p Program) explainCommand() *cobra.Command {
	a := &getFlags{Program: p}
	var client string
	cmd := &cobra.Command{
		Use:   "explain ADDRESS",
		Short: "Say behind which Services an address stands, in which state, and why; exit status 1 if there is none",
		Long: "Looks through all EndpointSlices of a namespace (-n) or of all (-A, the default) for\n" +
			"the address, and shows the effect of each slice that lists it, and why. With --client\n" +
			"NAME, a fleet, client or node of xDS, asks the endpoint-views at --server: the answer\n" +
			"lists all that the server sent to NAME, and whether NAME acknowledged it.",
		Args: func(_ *cobra.Command, args []string) error {
			if client != "" && len(args) == 0 {
				return nil
			}
			if len(args) != 1 {
				return fmt.Errorf("%d addresses to explain: give one, for example `explain 10.0.0.12`", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), a.timeout)
			defer cancel()
			if client != "" {
				return a.explainClient(ctx, client)
			}
			return a.explainAddress(ctx, args[0])
		},
	}
	cmd.Flags().StringVarP(&a.namespace, "namespace", "n", "", "namespace to look into; all by default")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 30*time.Second, "give up after this time without an answer")
	cmd.Flags().StringVar(&client, "client", "", "say what this fleet, client or node of xDS was sent, instead of an address")
	a.serverFlags(cmd.Flags())
	return cmd
}

// explainAddress says of an address where it stands.
func (a *getFlags) explainAddress(ctx context.Context, text string) error {
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return fmt.Errorf("%q is no IP address; give one, for example `explain 10.0.0.12`", text)
	}
	if a.server != "" {
		return errors.New("--server needs --client; why an address is shown or not is read from the API server")
	}
	c, err := a.load()
	if err != nil {
		return err
	}
	return a.explain(ctx, c, address.Unmap())
}

// explain reads everything once and says what becomes of the address.
func (a *getFlags) explain(ctx context.Context, c settings.Views, address netip.Addr) error {
	client, err := kube.Open(kube.Options{Way: a.way(c, true), UserAgent: "endpoint-views/" + a.Version})
	if err != nil {
		return err
	}
	defer client.Close()
	services, slices := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	if err := client.List(ctx, kube.Services(a.namespace), metav1.ListOptions{}, services); err != nil {
		return commandline.Exit(exitFailed, fmt.Errorf("list Services: %w", err))
	}
	if err := client.List(ctx, kube.EndpointSlices(a.namespace), metav1.ListOptions{}, slices); err != nil {
		return commandline.Exit(exitFailed, fmt.Errorf("list EndpointSlices: %w", err))
	}
	known := make(map[join.Key]*corev1.Service)
	for i := range services.Items {
		known[join.Key{Namespace: services.Items[i].Namespace, Name: services.Items[i].Name}] = &services.Items[i]
	}
	of := make(map[join.Key][]*join.Slice)
	var having []*join.Slice
	for i := range slices.Items {
		one := join.ToSlice(&slices.Items[i])
		if one == nil {
			continue
		}
		key := join.Key{Namespace: one.Namespace, Name: one.Service}
		if of[key] = append(of[key], one); one.Has(address) {
			having = append(having, one)
		}
	}
	for _, one := range having {
		key := join.Key{Namespace: one.Namespace, Name: one.Service}
		for _, text := range join.Explain(address, one, known[key], of[key], c.Cluster.Selects) {
			fmt.Fprintln(a.Stdout, transport.Printable(fmt.Sprintf("%s/%s: %s", one.Namespace, one.Name, text)))
		}
	}
	if len(having) == 0 {
		fmt.Fprintf(a.Stdout, "%s is in no EndpointSlice %s as the first address of an endpoint. Only the first address counts.\n", address, a.where("of", a.namespace == ""))
		return commandline.Exit(exitNothing, nil)
	}
	return nil
}
