package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	targets "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// leadership is this process's part in the leader election. Where there is none,
// the process leads.
type leadership struct {
	elector *lease.Elector // nil without an election
	// name is that of the machine, inside of a Pod that of the Pod; identity is what
	// the lease calls this process. Both are empty without an election.
	name, identity string
	since          time.Time
	// asker asks other replicas while this one leads, answerer answers while it stands by.
	// Both are nil without an election.
	asker    *peers.Asker
	answerer *peers.Answerer
}

// newLeadership makes the elector that LEADER_ELECTION asks for. A dry run
// writes nothing, not even the lease, so it stands for nothing.
func newLeadership(c settings.Config, dryRun bool, log *slog.Logger, m *metrics.Metrics) (leadership, error) {
	l := leadership{since: time.Now()}
	if !c.Leader.Election || dryRun {
		return l, nil
	}
	var err error
	if l.name, err = os.Hostname(); err != nil {
		return l, fmt.Errorf("LEADER_ELECTION=true: %w", err)
	}
	// With a random part, for a Pod that starts again is another process.
	l.identity = l.name + "_" + rand.Text()
	log = log.With("lease", c.Leader.Namespace+"/"+c.Leader.Name)
	l.elector, err = lease.New(lease.Options{
		Way: localWay(c.Store, m, metrics.ClientLease), Namespace: c.Leader.Namespace, Name: c.Leader.Name,
		Identity: l.identity, Node: c.Leader.NodeName,
		Changed: func(before, after lease.State) { tellElection(log, before, after) },
		Noted:   func(s lease.State) { l.answerer.Hear(s.Holder, s.Note) },
	})
	if err != nil {
		return l, fmt.Errorf("LEADER_ELECTION=true: %w", err)
	}
	l.meet(c, log)
	return l, nil
}

// meet makes what replicas ask and answer each other.
func (l *leadership) meet(c settings.Config, log *slog.Logger) {
	l.asker = peers.New(peers.Options{
		Identity: l.identity, Note: l.elector.Note, NoteLater: l.elector.NoteLater, Read: l.elector.ReadReplies,
		Replies: func(ctx context.Context, each func(map[string]string)) {
			if err := l.elector.Replies(ctx, each); err != nil {
				log.Warn("cannot read which endpoints other replicas reach, so silence counts as with one replica", "error", err)
			}
		},
		HandOver: func(identity string) {
			log.Warn("another replica reaches all endpoints that this replica reaches, and more: the other replica gets the lease", "successor", identity)
			l.elector.HandOver(identity)
		},
		HandedOver: func() time.Time { return l.elector.State().HandedOver },
	})
	reachable := filter.Rules{Subnets: subnetsToTry(c), AllowLoopback: c.Store.Kind == settings.StoreMemory}
	l.answerer = peers.NewAnswerer(peers.AnswererOptions{
		Replica: l.name, Identity: l.identity, Node: c.Leader.NodeName, Reply: l.elector.Reply, Failed: tellAnswers(log),
		Allowed: func(address netip.Addr) bool {
			reason, _ := reachable.Check(address)
			return reason == ""
		},
	})
}

// subnetsToTry are those in which this process may connect to what a leader asks about. Files
// have no bounds: each names its own subnets.
func subnetsToTry(c settings.Config) []netip.Prefix {
	switch {
	case !c.Documents.Used():
		return prefixes(c.Secured.Subnets)
	case c.Documents.Dir != "":
		return prefixes([]string{"0.0.0.0/0", "::/0"})
	}
	return prefixes(c.Documents.BoundSubnets)
}

// tellAnswers logs when the leader cannot be answered, and when it can again.
func tellAnswers(log *slog.Logger) func(error) {
	failed := false
	return func(err error) {
		switch {
		case err != nil && !failed:
			log.Warn("cannot tell the leader which endpoints this replica reaches, trying again", "error", err)
		case err == nil && failed:
			log.Info("this replica reports to the leader again which endpoints it reaches")
		}
		failed = err != nil
	}
}

// fence wraps the store: nothing is written without the lease.
func (l leadership) fence(store targets.Store) targets.Store {
	if l.elector == nil {
		return store
	}
	return fencedStore{store, l.elector}
}

// fencedStore is a store that writes only while the lease is held.
type fencedStore struct {
	targets.Store
	elector *lease.Elector
}

// Write implements writer.Store. An error that wraps lease.ErrLost says that
// nothing was tried, or that the lease ended it.
func (f fencedStore) Write(ctx context.Context, write publish.Write) (version string, err error) {
	err = f.elector.Fence(ctx, func(ctx context.Context) error {
		version, err = f.Store.Write(ctx, write)
		return err
	})
	return version, err
}

// lead runs do while this process leads, and answers another leader until then.
func (l leadership) lead(ctx context.Context, do func(context.Context) error) error {
	if l.elector == nil {
		return do(ctx)
	}
	standing, leads := context.WithCancel(ctx)
	return beside(ctx, func(ctx context.Context) error {
		defer leads()
		return l.elector.Run(ctx, func(ctx context.Context) error {
			leads()
			return beside(ctx, do, l.asker.Run)
		})
	}, func(context.Context) { l.answerer.Run(standing) })
}

// listensOn says where this process answers the other replicas.
func (l leadership) listensOn(address net.Addr) {
	if at, err := netip.ParseAddrPort(address.String()); err == nil && l.elector != nil {
		l.elector.ListensOn(at)
	}
}

// leading is the identity while this process holds the lease, else empty.
func (l leadership) leading() string {
	if !l.state().Leading {
		return ""
	}
	return l.identity
}

// state returns which replica leads.
func (l leadership) state() lease.State {
	if l.elector == nil {
		return lease.State{Leading: true, Since: l.since}
	}
	return l.elector.State()
}

// alive reports whether the election, if there is one, still comes round.
func (l leadership) alive() bool { return l.elector == nil || l.elector.Alive() }

// tellElection logs what changed, once.
func tellElection(log *slog.Logger, before, after lease.State) {
	switch {
	case after.Leading && !before.Leading:
		log.Info("leading", "identity", after.Holder)
	case before.Leading && !after.Leading && errors.Is(after.LastErr, lease.ErrLost):
		log.Error("lease lost, stopping", "holder", after.Holder, "error", after.LastErr)
	case before.Leading && !after.Leading && after.LastErr != nil:
		log.Warn("cannot release the lease, so other replicas wait until it expires", "error", after.LastErr)
	case before.Leading && !after.Leading:
		log.Info("lease released")
	case before.Holder != after.Holder && after.Holder != "":
		log.Info("standing by", "holder", after.Holder)
	case after.LastErr != nil:
		log.Warn("cannot read or write the lease, trying again", "error", after.LastErr)
	case before.LastErr != nil:
		log.Info("the lease can be read and written again")
	}
}
