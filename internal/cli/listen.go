package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/admin"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents/variables"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/election"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// listening runs do with both listeners open, from before it begins until it or
// ctx ends. If an address cannot be listened on, the program ends before it reads or
// writes anything.
func (b *parts) listening(ctx context.Context, do func(context.Context) error) error {
	document := b.document(time.Now())
	_, _, check := carried(b.config)
	only := func() report.Only {
		return report.Only{Document: document(), Pool: variables.PoolName, HealthCheck: report.CheckText(check)}
	}
	return b.serving(ctx, admin.Options{
		Admin: b.config.Listen.Admin, Metrics: b.config.Listen.Metrics,
		Document: document, Leader: b.leaderDocument, Identity: b.leader.leading, Ask: b.leaderAnswer,
		Services:      func(q report.Query) *report.Services { return only().Services(q) },
		Service:       func(namespace, service string) (*report.Document, error) { return only().Service(namespace, service) },
		Explain:       func(subject string, q report.Query) *report.Explanation { return only().Explain(subject, q) },
		Configuration: func() fmt.Stringer { return b.config.Describe() },
		Live:          []admin.Check{{Name: "loop", Run: b.loopAlive}, {Name: "election", Run: b.electionAlive}},
		Ready:         []admin.Check{{Name: "decision", Run: b.decided}},
		Scrape:        b.metrics.Handler(),
		Logger:        b.log,
	}, do)
}

// serving runs do with listeners that show something.
func (b *parts) serving(ctx context.Context, options admin.Options, do func(context.Context) error) error {
	server, err := admin.New(options)
	if err != nil {
		return err
	}
	if err := server.Listen(ctx); err != nil {
		return &exitError{ExitUsage, err}
	}
	_, reached := server.Addresses()
	b.leader.listensOn(reached)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Run(serving) // it has logged what went wrong, and nothing depends on it
	}()
	done := do(ctx)
	stop()
	<-served
	return done
}

// document returns what makes the document of the surfaces at any moment.
func (b *parts) document(started time.Time) func() *report.Document {
	return func() *report.Document { return report.Build(b.facts(started)) }
}

// leaderDocument returns the document of another replica that leads. It returns none
// if this process leads, or if no leader is known.
func (b *parts) leaderDocument(ctx context.Context) (*report.Document, error) {
	leader := b.leader.state()
	if leader.Leading || leader.Holder == "" {
		return nil, nil
	}
	d, err := askLeader(ctx, leader, b.config.Target)
	if err != nil {
		return nil, err
	}
	d.HandedOnBy = b.leader.name
	return d, nil
}

// facts are what a document is made of at this moment.
func (b *parts) facts(started time.Time) report.Facts {
	leader := b.leader.state()
	return report.Facts{
		Now: time.Now(), Status: b.syncer.Status(), Target: b.target,
		SourceKind: string(b.config.Source.Kind), StoreKind: string(b.config.Store.Kind),
		Leader:   leader.Leading,
		Election: report.Election{Enabled: leader.Enabled, Holder: leader.Holder, Since: leader.Since},
		DryRun:   b.dryRun, HealthOff: b.config.Health.Mode == config.HealthOff, Version: b.version, Started: started, Warnings: b.warnings(),
	}
}

// warnings returns the warnings of the source, if it has any.
func (b *parts) warnings() []string {
	if b.source.cloud == nil {
		return nil
	}
	return b.source.cloud.Warnings()
}

// loopAlive and electionAlive are liveness (contract 31): what runs comes round.
func (b *parts) loopAlive() error {
	if !b.syncer.Alive() {
		return fmt.Errorf("no pass for %s", syncer.Stalled)
	}
	return nil
}

func (b *parts) electionAlive() error {
	if !b.leader.alive() {
		return fmt.Errorf("no pass for %s", election.Stalled)
	}
	return nil
}

// decided is readiness (contract 31): the first decision was made, or is another
// replica's to make. A standby that was not ready would stop a rolling update for
// ever (ADR 19).
func (b *parts) decided() error {
	if b.leader.state().Leading && !b.syncer.Status().Decided() {
		return errors.New("no decision has been made yet")
	}
	return nil
}
