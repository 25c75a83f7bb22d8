//go:build lab

package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

const (
	// podUser is the user of the images, and its group.
	podUser  = 65532
	userspec = "--userspec=65532:65532"
	// programName is what endpoint-views is called in its image.
	programName = "endpoint-views"
)

// enterRoot adds to the file system of a Pod what a container has beside its files, and
// Envoy, in a mount namespace that ends with the process, and becomes the command in it.
const enterRoot = `set -e
root=$1 envoy=$2
shift 2
for dir in usr/lib usr/lib64 dev proc; do
	[ -d "/$dir" ] || continue
	mkdir -p "$root/$dir"
	mount --rbind "/$dir" "$root/$dir"
done
ln -sfn usr/lib "$root/lib"
ln -sfn usr/lib64 "$root/lib64"
mkdir -p "$root/usr/local/bin"
touch "$root/usr/local/bin/envoy"
mount --bind "$envoy" "$root/usr/local/bin/envoy"
exec chroot ` + userspec + ` "$root" "$@"`

// inside is the command line that runs a command in the Pod.
func (p *pod) inside(command []string) []string {
	enter := []string{"unshare", "--mount", "--propagation", "private", "sh", "-c", enterRoot, "sh", p.root, built.Tool(p.t, "envoy")}
	return netns.Inside(p.machine, append(enter, command...)...)
}

// makeRoot makes the file system that the processes of a Pod share.
func (p *pod) makeRoot() {
	var err error
	if p.root, err = os.MkdirTemp("", "pod"); err != nil {
		p.t.Fatal(err)
	}
	etc := filepath.Join(p.root, "etc")
	for _, try := range []func() error{
		func() error { return os.Chmod(p.root, 0o755) },
		func() error { return os.Mkdir(etc, 0o755) },
		func() error { return os.WriteFile(filepath.Join(etc, "hosts"), []byte(p.world.names), 0o644) },
		func() error { return place(built.Views(p.t), filepath.Join(p.root, programName)) },
	} {
		if err := try(); err != nil {
			p.t.Fatal(err)
		}
	}
}

// place puts a program somewhere else.
func place(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// removeRoot takes the files away. What was mounted has gone with the process; if anything
// is still mounted, nothing is removed.
func (p *pod) removeRoot() {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), p.root) {
		p.t.Errorf("Pod %s: something is still mounted in %s: %v", p.object.Name, p.root, err)
		return
	}
	_ = os.RemoveAll(p.root) // in the folder for what is temporary
}

// mount writes what the volumes hold to where containers mount them. It fails while
// something is not there yet.
func (p *pod) mount(ctx context.Context) error {
	volumes := map[string]corev1.VolumeSource{}
	for _, v := range p.object.Spec.Volumes {
		volumes[v.Name] = v.VolumeSource
	}
	var mounts []corev1.VolumeMount
	for _, of := range [][]corev1.Container{p.object.Spec.InitContainers, p.object.Spec.Containers} {
		for i := range of {
			mounts = append(mounts, of[i].VolumeMounts...)
		}
	}
	for _, m := range mounts {
		dir := filepath.Join(p.root, m.MountPath)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		volume := volumes[m.Name]
		if volume.EmptyDir != nil {
			if err := os.Chmod(dir, 0o777); err != nil {
				return err
			}
			continue
		}
		files, err := p.files(ctx, volume)
		if err != nil {
			return err
		}
		for name, text := range files {
			if err := writeFor(filepath.Join(dir, name), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// files are what a volume holds.
func (p *pod) files(ctx context.Context, volume corev1.VolumeSource) (map[string][]byte, error) {
	core := p.world.local.CoreV1()
	switch {
	case volume.Secret != nil:
		secret, err := core.Secrets(p.object.Namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return secret.Data, nil
	case volume.ConfigMap != nil:
		found, err := core.ConfigMaps(p.object.Namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		files := map[string][]byte{}
		for name, text := range found.Data {
			files[name] = []byte(text)
		}
		return files, nil
	}
	return nil, fmt.Errorf("a volume is neither emptyDir nor Secret nor ConfigMap: %v", volume)
}

// writeFor writes a file that the Pod's group may read.
func writeFor(path string, text []byte) error {
	_ = os.Remove(path) // of an attempt before
	if err := os.WriteFile(path, text, 0o440); err != nil {
		return err
	}
	return os.Chown(path, 0, podUser)
}
