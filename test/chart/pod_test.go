package chart_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// environment is what a container's variables come to, those apart that the
// kubelet takes from elsewhere.
func environment(container corev1.Container) map[string]string {
	env := map[string]string{}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			env[variable.Name] = variable.Value
		}
	}
	return env
}

// contents gives the files of a volume, by path below where it is mounted.
type contents func(volume corev1.Volume) map[string]string

// image is where the image has the program, and who runs it; the tests of the
// Dockerfile hold it to that.
const (
	imagePath = "/ionos-endpointslice-controller"
	imageUser = 65532
)

// command makes a process of a Pod's container as a kubelet would: with its
// environment and arguments, as its user, and with the image and its volumes as
// the whole file system.
func command(t *testing.T, pod corev1.PodSpec, files contents, changes map[string]string) *exec.Cmd {
	t.Helper()
	container := pod.Containers[0]
	root := t.TempDir()
	install(t, program(t), filepath.Join(root, imagePath))
	for _, mount := range container.VolumeMounts {
		if mount.SubPath != "" {
			t.Fatalf("mount %s: by subPath", mount.Name)
		}
		for _, volume := range pod.Volumes {
			if volume.Name == mount.Name {
				fill(t, filepath.Join(root, mount.MountPath), files(volume))
			}
		}
	}
	env := environment(container)
	maps.Copy(env, changes)
	made := exec.CommandContext(t.Context(), imagePath, container.Args...)
	made.Env = []string{}
	for name, value := range env {
		made.Env = append(made.Env, name+"="+value)
	}
	made.Dir = "/"
	made.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
	if ownsEveryUser() {
		made.SysProcAttr.Credential = &syscall.Credential{Uid: imageUser, Gid: imageUser}
	}
	return made
}

// ownsEveryUser reports whether this process is root of the machine, and not of a
// user namespace that has no other user.
func ownsEveryUser() bool {
	users, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Getuid() == 0 && strings.Join(strings.Fields(string(users)), " ") == "0 0 4294967295"
}

// install puts a program into the image.
func install(t *testing.T, from, to string) {
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

// fill writes the files of a volume.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		// Readable for the group, as defaultMode and fsGroup make them.
		if err := os.WriteFile(path, []byte(text), 0o440); err != nil {
			t.Fatal(err)
		}
		if ownsEveryUser() {
			if err := os.Chown(path, 0, imageUser); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTheProgramAcceptsTheEnvironmentOfEveryCombination starts the built program
// with the variables and the files of the rendered Pod.
func TestTheProgramAcceptsTheEnvironmentOfEveryCombination(t *testing.T) {
	eachCombination(t, func(t *testing.T, version string, args []string) {
		objects := documents(t, render(t, version, args...))
		files := func(volume corev1.Volume) map[string]string {
			found := map[string]string{}
			switch {
			case volume.Secret != nil:
				for _, item := range volume.Secret.Items {
					found[item.Path] = "secret"
				}
				if len(found) == 0 {
					found["kubeconfig"] = "apiVersion: v1\nkind: Config\n"
				}
			case volume.ConfigMap != nil:
				return configMap(t, objects, volume.ConfigMap.Name)
			}
			return found
		}
		pod := daemonPod(t, objects)
		pod.Containers[0].Args = []string{"config", "validate"}
		made := command(t, pod, files, nil)
		if out, err := made.CombinedOutput(); err != nil {
			t.Errorf("config validate: %v\n%s", err, out)
		}
	})
}

// configMap returns the data of a rendered ConfigMap.
func configMap(t *testing.T, objects []any, name string) map[string]string {
	t.Helper()
	for _, object := range objects {
		if found, ok := object.(*corev1.ConfigMap); ok && found.Name == name {
			return found.Data
		}
	}
	t.Fatalf("no ConfigMap %s is rendered", name)
	return nil
}

// sample is a value that the schema allows for a variable.
func sample(v variable) string {
	if m := oneOf.FindStringSubmatch(v.meaning); m != nil {
		return strings.Trim(strings.Split(m[1], ", ")[0], "`")
	}
	if m := limits.FindStringSubmatch(v.meaning); m != nil {
		return m[1]
	}
	fallback := strings.Trim(v.fallback, "`")
	switch {
	case v.name == "SECURED_SUBNET_CIDR":
		return "10.0.0.0/24"
	case v.name == "METRICS_ADDRESS":
		return "0.0.0.0:8081"
	case v.name == "LEADER_ELECTION":
		return "true"
	case fallback == "true" || fallback == "false" || duration.MatchString(fallback):
		return fallback
	}
	return "sample-" + strings.ToLower(v.key())
}
