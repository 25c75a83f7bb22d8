package controlplane

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Every file is named relative to the directory that both programs run in:
// the path of a socket may not be longer than 107 bytes, and that of a test's
// temporary directory easily is.
const (
	etcdSocket     = "etcd:1" // etcd insists on host:port and makes a socket of that name
	peerSocket     = "peer:1"
	caFile         = "ca.crt"
	servingCert    = "serving.crt"
	servingKey     = "serving.key"
	accountKey     = "service-account.key"
	managerFile    = "controller-manager.kubeconfig"
	policyFile     = "audit-policy.yaml"
	auditFile      = "audit.log"
	serviceRanges  = "10.96.0.0/16,fd00:10:96::/112"
	clusterService = "10.96.0.1"
)

// etcdFlags trade durability, which no test needs, for speed. Sockets instead
// of ports: no other process can take one away.
func etcdFlags() []string {
	return []string{
		"--data-dir=etcd",
		"--listen-client-urls=unix://" + etcdSocket,
		"--advertise-client-urls=unix://" + etcdSocket,
		"--listen-peer-urls=unix://" + peerSocket,
		"--initial-advertise-peer-urls=unix://" + peerSocket,
		"--initial-cluster=default=unix://" + peerSocket,
		"--unsafe-no-fsync",
		"--log-level=warn",
		// As kubeadm has it: without it the API server has no bookmarks at rest.
		"--watch-progress-notify-interval=5s",
	}
}

func (cp *ControlPlane) serverFlags() []string {
	flags := []string{
		"--etcd-servers=unix://" + etcdSocket,
		"--bind-address=" + cp.address.Addr().String(),
		"--advertise-address=" + cp.address.Addr().String(),
		"--secure-port=" + strconv.Itoa(int(cp.address.Port())),
		// The port is held by the test while the server is down; see reserve.
		"--permit-port-sharing",
		"--tls-cert-file=" + servingCert,
		"--tls-private-key-file=" + servingKey,
		"--client-ca-file=" + caFile,
		"--authorization-mode=RBAC",
		"--anonymous-auth=false",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + accountKey,
		"--service-account-signing-key-file=" + accountKey,
		"--service-cluster-ip-range=" + serviceRanges,
		// A loopback address would be refused as an endpoint of default/kubernetes.
		"--endpoint-reconciler-type=none",
		"--profiling=false",
	}
	if !cp.options.ControllerManager {
		flags = append(flags, "--disable-admission-plugins=ServiceAccount")
	}
	if cp.options.Audit {
		flags = append(flags, "--audit-policy-file="+policyFile, "--audit-log-path="+auditFile)
	}
	return append(flags, cp.options.Flags...)
}

// managerFlags run every controller that is on by default, and serve nothing. The one
// that takes nodes without a kubelet for dead runs only where it is asked for.
func managerFlags(options Options) []string {
	controllers := "*"
	if !options.NodeLifecycle {
		controllers += ",-node-lifecycle-controller"
	}
	return []string{
		"--kubeconfig=" + managerFile,
		"--root-ca-file=" + caFile,
		"--service-account-private-key-file=" + accountKey,
		"--controllers=" + controllers,
		"--horizontal-pod-autoscaler-sync-period=1s",
		"--secure-port=0",
		"--leader-elect=false",
	}
}

// auditPolicy leaves out what the server asks itself and what tests ask to
// learn whether it is up.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: None
  users: ["system:apiserver"]
- level: None
  nonResourceURLs: ["/readyz", "/livez", "/healthz"]
- level: Metadata
`

func (cp *ControlPlane) writeFiles() error {
	serving, err := cp.ca.serve(cp.address.Addr().AsSlice(), net.ParseIP(clusterService))
	if err != nil {
		return err
	}
	account, err := newKey()
	if err != nil {
		return err
	}
	accountPEM, err := encodeKey(account)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		caFile:      cp.ca.certPEM,
		servingCert: serving.certPEM,
		servingKey:  serving.keyPEM,
		accountKey:  accountPEM,
		policyFile:  []byte(auditPolicy),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(cp.dir, name), data, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if !cp.options.ControllerManager {
		return nil
	}
	manager, err := cp.newConfig("system:kube-controller-manager", "system:masters")
	if err != nil {
		return err
	}
	return writeKubeconfig(manager, filepath.Join(cp.dir, managerFile))
}
