package report

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
)

// speller spells settings as the readers of a target do, with the documents that have them.
type speller struct {
	setting.Spelling
	owner setting.Owner
}

// Of returns a message as its readers read it.
func (s speller) Of(text string) string { return s.Naming(text, s.owner) }

// owner names the documents that a target and a pool of it are described by. key is zero
// for the pool alone.
func (s *survey) owner(key resolve.Key, pool string) setting.Owner {
	binding, _ := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: key.Namespace, Name: key.Service})
	ownCheck := binding.Binding != nil && binding.Binding.Spec.HealthCheck != nil
	return func(of setting.Setting) string {
		switch {
		case of.OnlyPool(), of.Annotation != "" && !ownCheck && key != (resolve.Key{}):
			return v1alpha1.KindEndpointPool + " " + pool
		case binding.Binding != nil:
			return binding.Key.String()
		}
		return ""
	}
}

// spell spells settings in every message of the document as the target's readers do.
// Names, addresses and values of closed lists are left alone.
func (d *Document) spell(owner setting.Owner) {
	s := speller{d.Target.Spelling, owner}
	if s.Spelling == setting.Variables {
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
func (n *Node) spell(s speller) {
	n.Message = s.Of(n.Message)
	if n.Probe != nil {
		n.Probe.Message = s.Of(n.Probe.Message)
	}
	for i := range n.Decisions {
		n.Decisions[i].Message = s.Of(n.Decisions[i].Message)
	}
}

// spelled returns a list of messages in other words; the list is left as it is.
func spelled(s speller, messages []string) []string {
	if messages == nil {
		return nil
	}
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = s.Of(m)
	}
	return all
}
