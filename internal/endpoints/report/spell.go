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
	for _, list := range [][]string{d.Source.Warnings, d.Store.SlicesOfOthers, d.Store.SlicesBeside} {
		for i := range list {
			messages = append(messages, &list[i])
		}
	}
	for _, m := range messages {
		*m = names.Of(*m)
	}
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
