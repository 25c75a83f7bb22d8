package report

// Only is a process that fills one Service, which its environment describes.
type Only struct {
	*Document
	// Pool is what the pool is called where there are documents, HealthCheck the health check
	// in words.
	Pool, HealthCheck string
}

// Services makes the answer to a query: one pool and one target.
func (o Only) Services(q Query) *Services {
	d := o.Document
	out := &Services{
		APIVersion: APIVersion, At: d.At, Standstill: d.Standstill, Decided: d.Decided,
		Leader: d.Leader, Election: d.Election, HandedOnBy: d.HandedOnBy, DryRun: d.DryRun, Program: d.Program, Pools: []PoolStatus{},
	}
	var all []ServiceStatus
	if d.Leader || !d.Election.Enabled {
		pool := o.pool()
		out.Pools = append(out.Pools, pool)
		target := d.status()
		target.Pools = []PoolUse{{Name: o.Pool, State: Active}}
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
		Source: &d.Source, Removal: d.Removal, Services: 1, Stages: d.Stages,
		Groups: []GroupStatus{{
			HealthCheck: o.HealthCheck, Condition: d.Condition, Mode: d.Mode, Reason: d.Reason, Message: d.Message, Since: d.Since, Services: 1, Stages: d.Stages,
		}},
	}
}

// Service is the document of a Service, which has to be the only one.
func (o Only) Service(namespace, service string) (*Document, error) {
	if t := o.Document.Service; t.Namespace == namespace && t.Name == service {
		return o.Document, nil
	}
	return nil, &NoService{"Service " + namespace + "/" + service + " is no target: this process fills " + o.Document.Service.Namespace + "/" + o.Document.Service.Name + " only"}
}

// Explain says what the target knows of a node or an address.
func (o Only) Explain(subject string, q Query) *Explanation {
	d := o.Document
	e := &Explanation{
		APIVersion: APIVersion, At: d.At, Subject: subject, Standstill: d.Standstill, Decided: d.Decided, Leader: d.Leader, Election: d.Election, HandedOnBy: d.HandedOnBy,
	}
	var all []ExplainedService
	if (q.Namespace == "" || q.Namespace == d.Service.Namespace) && (q.Pool == "" || q.Pool == o.Pool) && (d.Leader || !d.Election.Enabled) {
		e.Known = 1
		nodes := d.Find(subject)
		for i := range nodes {
			nodes[i].Pool = o.Pool
		}
		if len(nodes) > 0 {
			all = append(all, ExplainedService{Namespace: d.Service.Namespace, Service: d.Service.Name, Condition: d.Condition, Spelling: d.Service.Spelling, Nodes: nodes})
		}
	}
	e.pick(all, q)
	return e
}
