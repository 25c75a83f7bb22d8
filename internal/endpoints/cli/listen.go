package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

// surfaces are what the listeners show.
func (b *parts) surfaces() page.Options {
	facts := b.shown(b.facts(time.Now()))
	return page.Options{
		Admin: b.config.Listen.Admin, Metrics: b.config.Listen.Metrics, Identity: b.leader.leading, Ask: b.leaderAnswer,
		Services: func(q report.Query) *report.Services { return facts().Services(q) },
		Service:  func(namespace, service string) (*report.Document, error) { return facts().Service(namespace, service) },
		Explain:  func(subject string, q report.Query) *report.Explanation { return facts().Explain(subject, q) },
		Home: func() (namespace, service string) {
			home := facts().Home()
			return home.Namespace, home.Service
		},
		Configuration: func() fmt.Stringer { return b.config.Describe() },
		Live:          []page.Check{{Name: "loop", Run: b.loopAlive}, {Name: "election", Run: b.electionAlive}},
		Ready:         []page.Check{{Name: "decision", Run: b.decided}},
		Scrape:        b.metrics.Handler(),
		Logger:        b.log,
	}
}

// serving runs do with both listeners open, from before it begins until it or ctx ends. If
// an address cannot be listened on, the program ends before it reads or writes anything.
func (b *parts) serving(ctx context.Context, do func(context.Context) error) error {
	server := page.New(b.surfaces())
	if err := server.Listen(ctx); err != nil {
		return commandline.Exit(ExitUsage, err)
	}
	_, reached := server.Addresses()
	b.leader.listensOn(reached)
	return beside(ctx, do, func(ctx context.Context) {
		_ = server.Run(ctx) // it has logged what went wrong, and nothing depends on it
	})
}

// facts returns what makes the facts about this process at any moment.
func (b *parts) facts(started time.Time) func() report.Process {
	var only assign.Key
	if !b.config.Documents.Used() {
		only = assign.Key{Namespace: b.config.Target.Namespace, Service: b.config.Target.ServiceName}
	}
	return func() report.Process {
		leader := b.leader.state()
		return report.Process{
			Now: time.Now(), Snapshot: b.server.Snapshot(), Only: only, StoreKind: string(b.config.Store.Kind), Leader: leader.Leading,
			Election: report.Election{Enabled: leader.Enabled, Holder: leader.Holder, Since: leader.Since},
			DryRun:   b.dryRun, Version: b.version, Started: started, StatusError: b.unwritten(),
		}
	}
}

// shown adds to the facts what other replicas say. Who looks makes the leader read that, so
// only answers to people have it.
func (b *parts) shown(facts func() report.Process) func() report.Process {
	return func() report.Process {
		m := facts()
		if !m.Leader || !m.Election.Enabled {
			return m
		}
		s := b.leader.asker.State()
		m.Election.Node, m.Election.HandedOver = b.config.Leader.NodeName, s.HandedOver
		for _, r := range s.Replicas {
			m.Election.Replicas = append(m.Election.Replicas, report.Replica(r))
		}
		return m
	}
}

// loopAlive and electionAlive are liveness (contract 31): what runs comes round.
func (b *parts) loopAlive() error {
	if !b.server.Alive() {
		return fmt.Errorf("no pass for %s", controller.Stalled)
	}
	return nil
}

func (b *parts) electionAlive() error {
	if !b.leader.alive() {
		return fmt.Errorf("no pass for %s", lease.Stalled)
	}
	return nil
}

// decided is readiness (contract 31): the first decision was made, or is another
// replica's to make. A standby that was not ready would stop a rolling update for
// ever (ADR 19).
func (b *parts) decided() error {
	if b.leader.state().Leading && !b.server.Decided() {
		return errors.New("no decision has been made yet")
	}
	return nil
}
