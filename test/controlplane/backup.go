package controlplane

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup keeps everything that the API server holds, for [ControlPlane.Restore]. It
// restarts both programs.
func (cp *ControlPlane) Backup() {
	cp.t.Helper()
	cp.withoutEtcd(func() error {
		return os.CopyFS(filepath.Join(cp.dir, "backup"), os.DirFS(filepath.Join(cp.dir, "etcd")))
	})
}

// Restore brings back what [ControlPlane.Backup] kept, as after a disaster: what
// was done since is forgotten, and versions of objects are given a second time.
func (cp *ControlPlane) Restore() {
	cp.t.Helper()
	cp.withoutEtcd(func() error {
		return errors.Join(os.RemoveAll(filepath.Join(cp.dir, "etcd")), os.Rename(filepath.Join(cp.dir, "backup"), filepath.Join(cp.dir, "etcd")))
	})
}

// withoutEtcd stops both programs, does something to the data and starts them.
func (cp *ControlPlane) withoutEtcd(do func() error) {
	cp.t.Helper()
	cp.server.Kill()
	cp.etcd.Kill()
	err := do()
	// What a killed etcd leaves of its sockets would look as if it served.
	for _, socket := range []string{etcdSocket, peerSocket} {
		if gone := os.Remove(filepath.Join(cp.dir, socket)); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		cp.t.Fatalf("controlplane: backup: %v", err)
	}
	cp.etcd = cp.run("etcd", etcdFlags())
	cp.waitEtcd()
	cp.Start()
}
