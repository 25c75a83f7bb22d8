package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// explainClient says of a client of xDS what it was sent, and what it said to that.
func (a *getFlags) explainClient(ctx context.Context, name string) error {
	if a.server == "" {
		return errors.New("--client needs --server: only a running endpoint-views knows its clients")
	}
	a.all = true
	from, err := newRemote(a)
	if err != nil {
		return err
	}
	var answer struct {
		Streams []xds.Stream `json:"streams"`
	}
	if err := from.ask(ctx, "/api/v1/xds", &answer); err != nil {
		return commandline.Exit(exitFailed, err)
	}
	found := false
	for i := range answer.Streams {
		if s := &answer.Streams[i]; s.Client == name || s.Node == name {
			found = true
			a.say("%s (%s, node %s at %s) has followed since %s", s.Client, s.Protocol, s.Node, s.Address, s.Since.Format(time.RFC3339))
			a.explainFleet(s)
			for _, sent := range s.Sent {
				a.explainSent(&sent)
			}
		}
	}
	if !found {
		a.say("%s has no stream of a client or node %s. Each replica knows its own clients only: ask the others, too.", a.server, name)
		return commandline.Exit(exitNothing, nil)
	}
	return nil
}

// explainFleet says where the fleet of a proxy is written down, and whether that counts.
func (a *getFlags) explainFleet(s *xds.Stream) {
	switch of := s.Fleet; {
	case of == nil:
	case of.Kept:
		a.say("  fleet: no file or object names it any more, so it keeps its listeners; write it again, or with an empty list of listeners to close them")
	case of.Carrier == "":
		a.say("  fleet: no file or object names it, so it gets clusters of every Service that it may use, and no listeners")
	case of.Problem != "":
		a.say("  fleet: the newest version of the %s is not in effect: %s", of.Carrier, of.Problem)
	case of.Unread != "":
		a.say("  fleet: the %s is in effect; whether there is a newer version is not known: %s", of.Carrier, of.Unread)
	default:
		a.say("  fleet: the %s is in effect", of.Carrier)
	}
}

func (a *getFlags) explainSent(sent *xds.SentResources) {
	for _, r := range sent.Resources {
		a.say("  %s %s: %s", sent.Type, r.Name, answered(sent, &r))
	}
	if sent.Rejected != nil && len(sent.Rejected.Resources) == 0 {
		a.say("  %s: rejected at %s: %s", sent.Type, sent.Rejected.At.Format(time.RFC3339), sent.Rejected.Text)
	}
}

// answered says what a client said to the newest version of a resource.
func answered(sent *xds.SentResources, r *xds.Resource) string {
	text := "sent at " + r.SentAt.Format(time.RFC3339)
	switch {
	case r.AcknowledgedAt != nil:
		return text + ", acknowledged at " + r.AcknowledgedAt.Format(time.RFC3339)
	case sent.Rejected != nil && slices.Contains(sent.Rejected.Resources, r.Name):
		return text + ", rejected, so the client keeps the previous version: " + sent.Rejected.Text
	}
	return text + ", not acknowledged"
}

func (a *getFlags) say(format string, args ...any) {
	fmt.Fprintln(a.Stdout, transport.Printable(fmt.Sprintf(format, args...)))
}
