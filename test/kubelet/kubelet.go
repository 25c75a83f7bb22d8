// Package kubelet runs the daemon of a Pod as a kubelet would, but on this machine
// and without an image. The built program gets the environment, the arguments, the
// files and the ServiceAccount token that the Pod has, and nothing else. It runs as
// the image's user and with the image as its whole file system.
//
// Isolation ends there: network and processes are those of the machine. A part of a
// Pod that the package does not know fails the test: nothing is ignored silently. It
// is for tests only.
package kubelet

import (
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// imageUser is the user of the image, and the user's group.
	imageUser = 65532
	// toolboxPath is the PATH of the toolbox image.
	toolboxPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Kubelet knows what a Pod must know of its cluster.
type Kubelet struct {
	// Client reads what a Pod refers to; it must be an administrator's.
	Client kubernetes.Interface
	// Server is where the API server listens.
	Server netip.AddrPort
	// Program is the built program. The image has it in its root, under the same name.
	Program string
	// Kubectl makes the image the toolbox: with this kubectl, and with the
	// Python of the machine. Empty: the image has the program alone.
	Kubectl string
}

// Command makes a process of the only container of a Pod. The changes are variables
// that differ from those of the Pod: two Pods on one machine cannot listen on the
// same port, and fakes have addresses of their own.
func (k *Kubelet) Command(t *testing.T, pod *corev1.Pod, changes map[string]string) *exec.Cmd {
	t.Helper()
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) != 0 {
		t.Fatalf("kubelet: Pod %s: got %d containers, want 1", pod.Name, len(pod.Spec.Containers))
	}
	container := pod.Spec.Containers[0]
	root := t.TempDir()
	imagePath := "/" + filepath.Base(k.Program)
	link(t, k.Program, filepath.Join(root, imagePath))
	for _, mount := range container.VolumeMounts {
		k.mount(t, pod, mount, root)
	}
	env := k.environment(t, pod)
	made := exec.CommandContext(t.Context(), imagePath, container.Args...)
	made.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
	if ownsEveryUser() {
		made.SysProcAttr.Credential = &syscall.Credential{Uid: imageUser, Gid: imageUser}
	}
	if k.Kubectl != "" {
		made = k.toolbox(t, root, append([]string{imagePath}, container.Args...))
		env["PATH"] = toolboxPath
	}
	maps.Copy(env, changes)
	made.Env = []string{}
	for name, value := range env {
		made.Env = append(made.Env, name+"="+value)
	}
	made.Dir = "/"
	return made
}

// enterToolbox binds what Python needs of the machine, in a mount namespace that
// ends with the process, and becomes the program.
const enterToolbox = `set -e
root=$1 user=$2
shift 2
for dir in usr/bin usr/lib usr/lib64 dev; do
	[ -d "/$dir" ] || continue
	mkdir -p "$root/$dir"
	mount --rbind "/$dir" "$root/$dir"
done
exec chroot $user "$root" "$@"`

// toolbox adds kubectl and Python to the image, and says how it is entered.
func (k *Kubelet) toolbox(t *testing.T, root string, command []string) *exec.Cmd {
	t.Helper()
	bin := filepath.Join(root, "usr/local/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, k.Kubectl, filepath.Join(bin, "kubectl"))
	for _, dir := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+dir, filepath.Join(root, dir)); err != nil {
			t.Fatal(err)
		}
	}
	user := ""
	if ownsEveryUser() {
		user = "--userspec=" + strconv.Itoa(imageUser) + ":" + strconv.Itoa(imageUser)
	}
	made := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "sh", "-c", enterToolbox, "sh", root, user}, command...)...)
	made.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return made
}

// environment is the values of the container's variables, and those that every Pod
// gets for the API server.
func (k *Kubelet) environment(t *testing.T, pod *corev1.Pod) map[string]string {
	t.Helper()
	env := map[string]string{
		"KUBERNETES_SERVICE_HOST": k.Server.Addr().String(),
		"KUBERNETES_SERVICE_PORT": strconv.Itoa(int(k.Server.Port())),
	}
	if links := pod.Spec.EnableServiceLinks; links == nil || *links {
		t.Fatalf("kubelet: Pod %s: enableServiceLinks: got true, want false", pod.Name)
	}
	container := pod.Spec.Containers[0]
	for _, source := range container.EnvFrom {
		if source.ConfigMapRef == nil || source.Prefix != "" {
			t.Fatalf("kubelet: Pod %s: envFrom: unforeseen", pod.Name)
		}
		found, err := k.Client.CoreV1().ConfigMaps(pod.Namespace).Get(t.Context(), source.ConfigMapRef.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(env, found.Data)
	}
	for _, variable := range container.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil {
			fields := map[string]string{"metadata.namespace": pod.Namespace, "spec.nodeName": pod.Spec.NodeName}
			known := false
			if from.FieldRef != nil {
				value, known = fields[from.FieldRef.FieldPath]
			}
			if !known {
				t.Fatalf("kubelet: variable %s: unforeseen source", variable.Name)
			}
		}
		if strings.Contains(value, "$(") {
			t.Fatalf("kubelet: variable %s: refers to another", variable.Name)
		}
		env[variable.Name] = value
	}
	return env
}

// ownsEveryUser reports whether this process is root of the machine, and not of a
// user namespace that has no other user.
func ownsEveryUser() bool {
	users, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Getuid() == 0 && strings.Join(strings.Fields(string(users)), " ") == "0 0 4294967295"
}

// link puts a program into the image.
func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err == nil {
		return
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}
