package chart_test

import (
	"strings"
	"testing"
)

func TestMistakesInTheValuesAreReportedByName(t *testing.T) {
	complete := func(more ...string) []string { return append(append([]string{}, readme...), more...) }
	reported(t, chartDir, map[string]mistake{
		"nothing set":             {nil, []string{"image.tag", "controller.ionosDatacenterId", "controller.ionosPrivateLanId", "controller.securedSubnetCidr"}},
		"no nodes":                {complete("--set", "secrets.kubeconfig.name="), []string{"secrets.kubeconfig.name", "controller.ionosClusterId"}},
		"no token":                {complete("--set", "secrets.ionosToken.name="), []string{"secrets.ionosToken.name"}},
		"no password":             {complete("--set", "controller.ionosUsername=a"), []string{"secrets.ionosPassword.name"}},
		"no file":                 {complete("--set", "controller.sourceKind=file"), []string{"controller.inventoryFilePath"}},
		"no command":              {complete("--set", "controller.sourceKind=command"), []string{"controller.inventoryCommand"}},
		"no nodes listed":         {complete("--set", "controller.sourceKind=static"), []string{"controller.staticNodes"}},
		"no Service":              {complete("--set", "controller.targetServiceName="), []string{"controller.targetServiceName"}},
		"no subnet":               {complete("--set", "controller.securedSubnetCidr="), []string{"controller.securedSubnetCidr: required", "only addresses inside it are published and probed", "set it to the private LAN"}},
		"a subnet taken away":     {complete("--set", "controller.securedSubnetCidr=null"), []string{"controller", "securedSubnetCidr"}},
		"no port":                 {complete("--set", "controller.targetPort="), []string{"controller.targetPort"}},
		"two without election":    {complete("--set", "controller.leaderElection=false"), []string{"replicaCount", "controller.leaderElection"}},
		"election over nothing":   {complete("--set", "controller.storeKind=memory"), []string{"controller.leaderElection", "controller.storeKind"}},
		"probes of loopback":      {complete("--set", "controller.metricsAddress=127.0.0.1:8081"), []string{"controller.metricsAddress"}},
		"an account without name": {complete("--set", "serviceAccount.create=false"), []string{"serviceAccount.name"}},
		"an unknown variable":     {complete("--set", "controller.healthCheckIntervall=2s"), []string{"controller", "healthCheckIntervall"}},
		"an unknown key":          {complete("--set", "replicas=2"), []string{"replicas"}},
		"an unknown key below":    {complete("--set", "metrics.serviceMonitor.enable=true"), []string{"serviceMonitor", "enable"}},
		"a kind that is none":     {complete("--set", "controller.sourceKind=iono"), []string{"sourceKind"}},
		"a number too large":      {complete("--set", "controller.targetPort=65536"), []string{"targetPort"}},
		"a number that is none":   {complete("--set-string", "controller.ionosPrivateLanId=two"), []string{"ionosPrivateLanId"}},
		"a duration in no unit":   {complete("--set-string", "controller.drainPeriod=30"), []string{"drainPeriod"}},
		"a duration as a number":  {complete("--set", "controller.drainPeriod=30"), []string{"drainPeriod"}},
		"a subnet that is none":   {complete("--set", "controller.securedSubnetCidr=10.0.0.0"), []string{"securedSubnetCidr"}},
		"an API without ports":    {complete("--set-json", "networkPolicy.egress.remote.ports=[]"), []string{"remote", "ports"}},
		"ports taken away":        {complete("--set", "networkPolicy.egress.kubernetes.ports=null"), []string{"kubernetes", "ports"}},
		"the Service as an extra": {
			complete("--set-json", `extraObjects=[{"kind":"Service","metadata":{"name":"web"}}]`), []string{"extraObjects: the Service web must not be part of the release"},
		},
		"a slice as an extra": {
			complete("--set", `extraObjects={kind: EndpointSlice}`), []string{"extraObjects: the EndpointSlice", "removing the release would remove the endpoints"},
		},
		"a DNS policy that is none": {complete("--set", "dnsPolicy=Off"), []string{"dnsPolicy"}},
		"a digest that is none":     {complete("--set", "image.digest=latest"), []string{"digest"}},
		"a label of the chart's":    {complete("--set", `commonLabels.app\\.kubernetes\\.io/name=a`), []string{"commonLabels"}},
		"replicas as text":          {complete("--set-string", "replicaCount=2"), []string{"replicaCount"}},
		"too little time to end":    {complete("--set", "terminationGracePeriodSeconds=5"), []string{"terminationGracePeriodSeconds"}},
	})
}

// mistake is one in the values, and what the error says of it.
type mistake struct{ args, says []string }

// reported renders a chart with each of the mistakes, by every version of Helm unless
// some are named.
func reported(t *testing.T, chart string, mistakes map[string]mistake, versions ...string) {
	t.Helper()
	if len(versions) == 0 {
		versions = helms
	}
	for name, c := range mistakes {
		for _, version := range versions {
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				got := helm(t, version, append([]string{"template", "edge", chart}, c.args...)...)
				if !got.failed {
					t.Fatal("got no error")
				}
				if strings.Contains(got.stderr, "\n1 mistakes") {
					t.Errorf("got a plural for one mistake:\n%s", got.stderr)
				}
				for _, says := range c.says {
					if !strings.Contains(got.stderr, says) {
						t.Errorf("got no %q in\n%s", says, got.stderr)
					}
				}
			})
		}
	}
}
