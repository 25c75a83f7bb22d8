package controllertest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// environment are the documents of the variables, which never change.
type environment struct{ set documents.Set }

// Set implements controller.Documents.
func (e environment) Set() documents.Set { return e.set }

// Changed implements controller.Documents.
func (e environment) Changed() <-chan struct{} { return nil }

// documentsOf are a pool and a binding for options without any.
func documentsOf(o Options) (*v1alpha1.EndpointPool, *v1alpha1.EndpointBinding) {
	p := &v1alpha1.EndpointPool{ObjectMeta: metav1.ObjectMeta{Name: "remote"}}
	if o.Prober == nil || o.Policy.HealthOff {
		p.Spec.HealthCheck.Mode = v1alpha1.HealthCheckNone
	}
	b := &v1alpha1.EndpointBinding{ObjectMeta: metav1.ObjectMeta{Namespace: o.Target.Namespace, Name: o.Target.Service}}
	b.Spec.Pools, b.Spec.Adopt = []v1alpha1.BindingPool{{Name: p.Name}}, o.Target.SliceName
	if o.Placer != nil {
		b.Spec.Pools[0].RemoteService = &v1alpha1.RemoteServiceReference{Namespace: "far", Name: "web"}
	}
	for _, port := range o.Target.Ports {
		b.Spec.Ports = append(b.Spec.Ports, v1alpha1.BindingPort{Name: port.Name, Port: int32(port.Number), Protocol: v1alpha1.Protocol(port.Protocol)})
	}
	if len(o.Target.Ports) > 1 {
		p.Spec.HealthCheck.Port = new(b.Spec.Ports[0].Port)
	}
	p.SetDefaults()
	return p, b
}

// served are the options of the engine. What it tells, the board tells in the words of
// variables.
func (s *Engine) served() controller.Options {
	o := s.opts
	wanted, _ := assign.CheckOf(o.Pool, nil, o.Target.Ports)
	return controller.Options{
		Documents: environment{documents.OfVariables(o.Pool, o.Binding)},
		Hub:       controller.NewOne(o.Store, o.Target, o.StoreChanged, o.PollInterval),
		Supply: func(*v1alpha1.EndpointPool) (controller.Supply, error) {
			return controller.Supply{
				Make: func() (controller.Origin, error) {
					follow := func(context.Context, inventory.RemoteService) pool.Placer { return o.Placer }
					return controller.Origin{Source: o.Source, Changed: o.SourceChanged, Warnings: o.Warnings, Follow: follow}, nil
				},
				Free: o.FreeReads, Rules: o.Rules, PollInterval: o.PollInterval, Timeout: o.SourceTimeout,
			}, nil
		},
		Checking: func(_ *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
			checking := controller.GroupCheck{Prober: o.Prober, Key: fmt.Sprint(check), Policy: o.Policy, Timeout: o.HealthTimeout}
			if check != wanted && o.Checker != nil {
				var err error
				if checking.Prober, err = o.Checker(check); err != nil {
					return controller.GroupCheck{}, err
				}
			}
			if o.Policy.HealthOff {
				checking.Prober = nil
			} else if o.Hold {
				checking.HoldPort = check.Port
			}
			return checking, nil
		},
		ManagedBy: o.Target.ManagedBy, MaxEndpoints: o.Target.MaxEndpoints, Concurrency: o.Concurrency, Lanes: o.Lanes,
		Connections: o.Connections, Asker: o.Asker, Random: o.Random, DryRun: o.DryRun, Logger: o.Logger, Announce: s.announce,
		Observe: s.observed(wanted),
	}
}

// observed tells the board too.
func (s *Engine) observed(wanted assign.Check) controller.Observe {
	observe := s.opts.Observe
	observe.Fill()
	all := observe
	all.OfGroup = func(key assign.Group) func(pool.Outcome, explain.Pool) {
		seen := observe.OfGroup(key)
		if key.Check != wanted {
			return seen
		}
		return func(o pool.Outcome, memory explain.Pool) {
			s.board.pooled(o, memory)
			seen(o, memory)
		}
	}
	all.OfTarget = func(key assign.Key, dryRun bool) func(writer.Outcome) {
		seen := observe.OfTarget(key, dryRun)
		return func(o writer.Outcome) {
			s.board.targeted(o)
			seen(o)
		}
	}
	return all
}

// announce makes a notice known.
func (s *Engine) announce(_ assign.Key, notice explain.Notice) {
	if s.opts.Announcer != nil {
		s.opts.Announcer.Announce(notice)
	}
}
