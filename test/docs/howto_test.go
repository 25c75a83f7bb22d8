package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// release makes what the pages expect that are read after an installation.
const release = `kubectl create namespace backends
helm install ionos-endpointslice-controller helm/ionos-endpointslice-controller --namespace backends \
  --set controller.securedSubnetCidr=10.7.222.0/24 --set controller.ionosDatacenterId=8feda53f-15f0-447f-badf-ebe32dad2fc0 \
  --set controller.ionosPrivateLanId=2 --set image.tag=dev
`

// remote is the context of an administrator of the remote cluster.
const remote = `kubectl config rename-context "$(kubectl config current-context)" remote
`

// granted waits for what the ServiceAccount of that page may do after its first two blocks: an
// API server knows new rights a moment later.
var granted = []string{
	"until kubectl auth can-i watch nodes --as=system:serviceaccount:kube-system:node-reader >/dev/null; do sleep 0.1; done",
	"until kubectl -n kube-system auth can-i create serviceaccounts/node-reader --subresource=token --as=system:serviceaccount:kube-system:node-reader >/dev/null; do sleep 0.1; done",
}

// frontService is what clients use today, with the kind Envoy beside it.
const frontService = `kubectl apply -f deploy/fleet/fleet.ablmnzde.github.io_envoys.yaml
until kubectl get envoys -A >/dev/null 2>&1; do sleep 0.1; done
kubectl create namespace shop
kubectl -n shop create service clusterip web --tcp=80:8080
`

// fleetBefore is a fleet before that Service.
const fleetBefore = frontService + `kubectl apply -f - <<'EOF'
apiVersion: fleet.ablmnzde.github.io/v1alpha1
kind: Envoy
metadata: {name: edge, namespace: shop}
spec:
  name: edge
  configMapName: edge-bootstrap
  listeners: [{name: http, port: 80, service: web-endpoints}]
EOF
`

// howtos are the pages that are followed here, and what was there before.
var howtos = map[string]string{
	"docs/how-to/install-with-helm.md": "cp ~/.kube/config remote-kubeconfig.yaml\necho x > token\n" +
		`printf 'image: {tag: dev}\ncontroller: {securedSubnetCidr: 10.7.222.0/24, ionosDatacenterId: 8feda53f-15f0-447f-badf-ebe32dad2fc0, ionosPrivateLanId: 2}\n' > values.yaml`,
	"docs/how-to/ionos-source.md":        "",
	"docs/how-to/kubernetes-source.md":   remote + "kubectl create namespace backends",
	"docs/how-to/many-services.md":       "for team in shop blog pay; do kubectl create namespace $team; done\necho x > token\ncp ~/.kube/config london-kubeconfig.yaml",
	"docs/how-to/kube-proxy-to-envoy.md": frontService,
	"docs/how-to/fleet-fails.md":         fleetBefore,
	"docs/how-to/second-service.md":      release + "echo x > token\ncp ~/.kube/config remote-kubeconfig.yaml",
	"docs/how-to/security.md":            release + "echo x > token",
	"docs/how-to/upgrade.md":             release,
}

// followed are the pages whose blocks other tests run: test/deploy, and those of
// this package.
var followed = []string{"docs/how-to/install-with-manifests.md", "docs/how-to/maintain.md", viewsPage, envoyPage}

// TestTheBlocksOfTheHowTosWork has one API server for both clusters, where kubectl
// looks for it.
func TestTheBlocksOfTheHowTosWork(t *testing.T) {
	netns.Require(t)
	for path, given := range howtos {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := newSession(t)
			for _, folder := range []string{filepath.Join(s.home, ".kube"), filepath.Join(s.dir, "remote")} {
				if err := os.Mkdir(folder, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := copyFile(controlplane.Start(t, controlplane.Options{}).Kubeconfig(t), filepath.Join(s.home, ".kube", "config")); err != nil {
				t.Fatal(err)
			}
			s.must(t, given)
			p := newPage(path, strings.ReplaceAll(read(t, path), "/etc/remote/", "remote/"))
			s.blocks(t, p, func(done int) {
				if path == "docs/how-to/kubernetes-source.md" && done <= len(granted) {
					s.must(t, granted[done-1])
				}
			})
		})
	}
}

// TestEveryBlockOfAHowToIsRunOrMarked: a reader must see what was never tried.
func TestEveryBlockOfAHowToIsRunOrMarked(t *testing.T) {
	run := map[string]bool{"docs/tutorial.md": true}
	for _, path := range followed {
		run[path] = true
	}
	for path := range howtos {
		run[path] = true
	}
	blocks := 0
	for _, p := range pages(t) {
		if !strings.HasPrefix(p.path, "docs/how-to/") && p.path != "docs/first-run-checklist.md" || run[p.path] {
			continue
		}
		for _, b := range p.blocks {
			if b.language != "sh" {
				continue
			}
			blocks++
			if b.mark == "" {
				t.Errorf("%s:%d: no test runs this block, and no comment before it says why", p.path, b.line)
			}
		}
	}
	if blocks < 8 {
		t.Errorf("got %d blocks: are they still recognised?", blocks)
	}
}

// must runs commands that are on no page.
func (s *session) must(t *testing.T, commands string) {
	t.Helper()
	if out, err := s.run(t, block{text: commands}); err != nil {
		t.Fatalf("%v\n%s\n%s", err, commands, out)
	}
}
