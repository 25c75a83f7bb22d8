package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// noSuchName is what check asks for: the right is there when the answer is that the
// object is not.
const noSuchName = "endpoint-views-check"

// checkCommand tries what serve needs.
func (p Program) checkCommand() *cobra.Command {
	timeout := 10 * time.Second
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Try everything that serve needs, and say what is missing; exit status 4 if something is",
		Long: "Reads the files that the configuration names, and lists, watches and gets Services,\n" +
			"EndpointSlices and, with XDS_WATCH_FLEETS, Envoys in each namespace of VIEWS_NAMESPACES.\n" +
			"It changes nothing and does not listen, so it can run beside serve.",
		Args: cobra.NoArgs,
		RunE: p.configured(func(ctx context.Context, c settings.Views) error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			if !p.check(ctx, c) {
				return commandline.Exit(exitFailed, nil)
			}
			return nil
		}),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "give up after this time without an answer")
	return cmd
}

// check reports whether everything is as it has to be, and prints what is not.
func (p Program) check(ctx context.Context, c settings.Views) bool {
	sound := true
	say := func(what string, err error) {
		if err != nil {
			sound = false
			fmt.Fprintln(p.Stdout, transport.Printable(fmt.Sprintf("FAIL  %s: %v", what, err)))
			return
		}
		fmt.Fprintf(p.Stdout, "ok    %s\n", what)
	}
	if s := c.Stream; s.Certificate != "" {
		say("certificates", stream.TLS{CertificateFile: s.Certificate, KeyFile: s.Key, ClientCAFile: s.ClientCA}.Check())
	}
	if file := c.Stream.Identities; file != "" {
		_, err := stream.ReadIdentities(file)
		say("list of identities", err)
	}
	if file := c.XDS.Fleets; file != "" {
		_, err := xds.ReadFleets(file)
		say("list of fleets", err)
	}
	client, err := kube.Open(kube.Options{Way: p.way(c, true), UserAgent: "endpoint-views/" + p.Version})
	say("access to the API server", err)
	if err != nil {
		return false
	}
	defer client.Close()
	namespaces := c.Cluster.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		where := "in namespace " + namespace
		if namespace == metav1.NamespaceAll {
			where = "in all namespaces"
		}
		say("list, watch and get services "+where, try(ctx, client, kube.Services(namespace), "services "+where, &corev1.ServiceList{}, &corev1.Service{}))
		say("list, watch and get endpointslices "+where, try(ctx, client, kube.EndpointSlices(namespace), "endpointslices.discovery.k8s.io "+where, &discoveryv1.EndpointSliceList{}, &discoveryv1.EndpointSlice{}))
		if !c.XDS.Watch {
			continue
		}
		err := try(ctx, client, kube.Envoys(namespace), "envoys."+v1alpha1.GroupName+" "+where, &v1alpha1.EnvoyList{}, &v1alpha1.Envoy{})
		if apierrors.IsNotFound(err) { // the kind may come later
			err = nil
		}
		say("list, watch and get envoys "+where, err)
	}
	return sound
}

// listObject is what a list is read into.
type listObject interface {
	runtime.Object
	metav1.ListInterface
}

// try lists, watches and gets one kind; all that is refused is told at once.
func try(ctx context.Context, client *kube.Client, resource kube.Resource, what string, list listObject, object runtime.Object) error {
	listed := client.List(ctx, resource, metav1.ListOptions{Limit: 1}, list)
	opened, watched := client.Watch(ctx, resource, metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: new(int64(1))})
	if watched == nil {
		opened.Stop()
	}
	if resource.Namespace == metav1.NamespaceAll {
		resource.Namespace = metav1.NamespaceDefault
	}
	got := client.Get(ctx, resource, noSuchName, object)
	if apierrors.IsNotFound(got) {
		got = nil
	}
	var all []error
	for _, one := range []struct {
		verb string
		err  error
	}{{"list", listed}, {"watch", watched}, {"get", got}} {
		switch {
		case apierrors.IsForbidden(one.err):
			all = append(all, fmt.Errorf("%s is refused; give the right to %s %s", one.verb, one.verb, what))
		case one.err != nil:
			all = append(all, fmt.Errorf("%s: %w; is the API server that KUBECONFIG names reachable from here?", one.verb, one.err))
		}
	}
	return errors.Join(all...)
}
