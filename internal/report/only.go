package report

// Only is a process that fills one Service, which its environment describes.
type Only struct {
	*Document
	// Pool is what the pool is called where there are documents, Check the health check
	// in words.
	Pool, Check string
}

// Targets makes the answer to a query: one pool and one target.
func (o Only) Targets(q Query) *Targets {
	d := o.Document
	out := &Targets{
		APIVersion: APIVersion, At: d.At, Standstill: d.Standstill, Decided: d.Decided,
		Leader: d.Leader, Election: d.Election, HandedOnBy: d.HandedOnBy, DryRun: d.DryRun, Program: d.Program, Pools: []PoolStatus{},
	}
	var all []TargetStatus
	if d.Leader || !d.Election.Enabled {
		pool := o.pool()
		out.Pools = append(out.Pools, pool)
		target := d.status()
		target.Pools = []PoolUse{{Name: o.Pool, State: Current}}
		all = append(all, target)
	}
	out.Known = len(all)
	out.pick(all, q)
	out.judge(all)
	out.StandsStill(d.Standstill)
	return out
}

// pool is the only one, whatever becomes of the slices.
func (o Only) pool() PoolStatus {
	d := *o.Document
	d.Problem, d.Store, d.Standstill = nil, Store{}, ""
	d.Judge()
	return PoolStatus{
		Name: o.Pool, Condition: d.Condition, Mode: d.Mode, Reason: d.Reason, Message: d.Message, Since: d.Since,
		Source: &d.Source, Removal: d.Removal, Targets: 1, Stages: d.Stages,
		Groups: []GroupStatus{{
			Check: o.Check, Condition: d.Condition, Mode: d.Mode, Reason: d.Reason, Message: d.Message, Since: d.Since, Targets: 1, Stages: d.Stages,
		}},
	}
}

// Target is the document of a Service, which has to be the only one.
func (o Only) Target(namespace, service string) (*Document, error) {
	if t := o.Document.Target; t.Namespace == namespace && t.Service == service {
		return o.Document, nil
	}
	return nil, &NoTarget{"Service " + namespace + "/" + service + " is no target: this process fills " + o.Document.Target.Namespace + "/" + o.Document.Target.Service + " only"}
}

// Explain says what the target knows of a node or an address.
func (o Only) Explain(subject string, q Query) *Explanation {
	d := o.Document
	e := &Explanation{
		APIVersion: APIVersion, At: d.At, Subject: subject, Standstill: d.Standstill, Decided: d.Decided, Leader: d.Leader, Election: d.Election, HandedOnBy: d.HandedOnBy,
	}
	var all []ExplainedTarget
	if (q.Namespace == "" || q.Namespace == d.Target.Namespace) && (q.Pool == "" || q.Pool == o.Pool) && (d.Leader || !d.Election.Enabled) {
		e.Known = 1
		nodes := d.Find(subject)
		for i := range nodes {
			nodes[i].Pool = o.Pool
		}
		if len(nodes) > 0 {
			all = append(all, ExplainedTarget{Namespace: d.Target.Namespace, Service: d.Target.Service, Condition: d.Condition, Spelling: d.Target.Spelling, Nodes: nodes})
		}
	}
	e.pick(all, q)
	return e
}
