package report

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"

// spell spells settings in every message of the document as the target's readers do.
// Names, addresses and values of closed lists are left alone.
func (d *Document) spell() {
	s := d.Target.Spelling
	if s == setting.Variables {
		return
	}
	messages := []*string{&d.Message, &d.Source.LastError, &d.Store.LastError, &d.Store.LoadError, &d.Store.WriteError}
	if d.Problem != nil {
		messages = append(messages, &d.Problem.Message)
	}
	for _, m := range messages {
		*m = s.Of(*m)
	}
	d.Source.Warnings = spelled(s, d.Source.Warnings)
	d.Store.Refused, d.Store.Beside = spelled(s, d.Store.Refused), spelled(s, d.Store.Beside)
	for i := range d.Nodes {
		d.Nodes[i].spell(s)
	}
	for i := range d.Cycles {
		d.Cycles[i].Error = s.Of(d.Cycles[i].Error)
	}
}

// spell does so with one entry.
func (n *Node) spell(s setting.Spelling) {
	n.Message = s.Of(n.Message)
	if n.Probe != nil {
		n.Probe.Message = s.Of(n.Probe.Message)
	}
	for i := range n.Decisions {
		n.Decisions[i].Message = s.Of(n.Decisions[i].Message)
	}
}

// spelled returns a list of messages in other words; the list is left as it is.
func spelled(s setting.Spelling, messages []string) []string {
	if messages == nil {
		return nil
	}
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = s.Of(m)
	}
	return all
}
