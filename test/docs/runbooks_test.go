package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// runbooksWorld is what the runbooks look at, with the names that they have: both programs in the
// namespace edge, a Service, a pool, and a fleet with its certificate. No Pod runs.
const runbooksWorld = `kubectl create namespace edge
kubectl -n edge create secret generic kubeconfigs --from-literal=secured=x
kubectl -n default create service clusterip web --clusterip=None
helm install ionos-endpointslice-controller helm/ionos-endpointslice-controller --namespace edge \
  --set controller.securedSubnetCidr=10.7.222.0/24 --set controller.ionosDatacenterId=8feda53f-15f0-447f-badf-ebe32dad2fc0 \
  --set controller.ionosPrivateLanId=2 --set image.tag=dev
helm install endpoint-views helm/endpoint-views --namespace edge --set image.tag=dev --set tls.secretName=tls --set tls.clientCA.secretName=tls
` + fleetBefore + `openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=edge -keyout edge.key -out edge.crt 2>/dev/null
kubectl -n shop create secret tls edge-xds --cert=edge.crt --key=edge.key
kubectl apply -f deploy/crds
kubectl wait --for=condition=Established -f deploy/crds
kubectl apply -f - <<'EOF'
apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: berlin}
spec:
  source: {kubernetes: {}}
  credentials: berlin
  subnets: [10.0.0.0/24]
  allow: [{namespaces: [shop], ports: ["30080"]}]
EOF
`

var (
	// looks is a line of a runbook that reads the API server, and needs no Pod.
	looks = regexp.MustCompile(`^(fleet|can |kubectl (-n \S+ )?(get|describe|events|auth)\b)`)
	// changes is a block that changes a setting.
	changes = regexp.MustCompile(`(?m)^kubectl (-n \S+ set env|patch endpointpool) `)
	// finds is a line that may find nothing, or says no.
	finds = regexp.MustCompile(`\| grep|^can |^kubectl auth can-i`)
	// refuses is what kubectl says of a line that is wrong, also in a pipe.
	refuses = regexp.MustCompile(`(?m)^(error: |Error from server)`)
)

// TestTheLooksOfTheRunbooksWork: a person on call types what is printed, and nothing else. Each line
// is run after the block at the top of its page, and so is each block that changes a setting.
func TestTheLooksOfTheRunbooksWork(t *testing.T) {
	netns.Require(t)
	s := clusterSession(t)
	s.must(t, runbooksWorld)
	paths, err := filepath.Glob(filepath.Join(root, "docs/runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen, changed := 0, 0
	for _, path := range paths {
		p := newPage("docs/runbooks/"+filepath.Base(path), read(t, "docs/runbooks/"+filepath.Base(path)))
		top := ""
		for _, b := range p.blocks {
			if top == "" {
				top = b.text
				continue
			}
			if changes.MatchString(b.text) {
				changed++
				s.must(t, top+"\n"+b.text)
				continue
			}
			for line := range strings.Lines(b.text) {
				line = strings.TrimSpace(line)
				if b.language != "sh" || !looks.MatchString(line) {
					continue
				}
				seen++
				command, _, _ := strings.Cut(line, "   #")
				if finds.MatchString(line) {
					command += " || [ $? = 1 ]"
				}
				out, err := s.run(t, block{text: top + "\n" + command})
				if err != nil || refuses.MatchString(out.String()) {
					t.Errorf("%s:%d: %s: %v\n%s", p.path, b.line, line, err, out)
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("got %d lines: are they still recognised?", seen)
	}
	if changed < 6 {
		t.Errorf("got %d blocks that change a setting: are they still recognised?", changed)
	}
}
