package preflight

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// What plain functions find.
var (
	JudgeCredential = judgeCredential
	JudgeToken      = judgeToken
	JudgeRead       = judgeRead
	JudgeNodes      = judgeNodes
	JudgeNodePorts  = judgeNodePorts
	JudgeProbes     = judgeProbes
	JudgeService    = judgeService
	JudgeSlices     = judgeSlices
	JudgeReplicas   = judgeReplicas
)

// Unusual are the warnings about a configuration and its pool.
func Unusual(c settings.Config, pool *v1alpha1.EndpointPool, inPod bool) []Check {
	return append(unusual(c, inPod), unusualPool(pool)...)
}

// Needed spells the rights of the daemon in a namespace.
func (o Options) Needed(namespace string) []string {
	var rights []string
	for _, r := range o.needed(namespace, true) {
		rights = append(rights, r.String())
	}
	return rights
}
