package report

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"

// spell names settings in every message of the document as the target's readers do.
// Names, addresses and values of closed lists are left alone.
func (d *Document) spell(names naming.Names) {
	if names.Spelling == naming.Variables {
		return
	}
	messages := []*string{&d.Message, &d.Source.LastError, &d.Store.LastError, &d.Store.LoadError, &d.Store.WriteError}
	if d.Problem != nil {
		messages = append(messages, &d.Problem.Message)
	}
	if d.Source.RemoteService != nil {
		messages = append(messages, &d.Source.RemoteService.Message)
	}
	for _, m := range messages {
		*m = names.Of(*m)
	}
	d.Source.Warnings = spelled(names, d.Source.Warnings)
	d.Store.SlicesOfOthers, d.Store.SlicesBeside = spelled(names, d.Store.SlicesOfOthers), spelled(names, d.Store.SlicesBeside)
	for i := range d.Nodes {
		d.Nodes[i].spell(names)
	}
	for i := range d.Cycles {
		c := &d.Cycles[i]
		c.Error = names.Of(c.Error)
		if c.Mode != nil {
			mode := *c.Mode
			mode.Message = names.Of(mode.Message)
			c.Mode = &mode
		}
	}
}

// spell does so with one entry.
func (n *Node) spell(names naming.Names) {
	n.Message = names.Of(n.Message)
	if n.HealthCheck != nil {
		n.HealthCheck.Message = names.Of(n.HealthCheck.Message)
	}
	for i := range n.Decisions {
		n.Decisions[i].Message = names.Of(n.Decisions[i].Message)
	}
}

// spelled returns a list of messages in other words; the list is left as it is.
func spelled(names naming.Names, messages []string) []string {
	if messages == nil {
		return nil
	}
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = names.Of(m)
	}
	return all
}
