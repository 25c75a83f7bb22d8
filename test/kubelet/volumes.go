package kubelet

import (
	"os"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Renew writes what the volumes of a running Pod hold now, as a kubelet does about every
// minute. What they do not hold any more stays.
func (p *Process) Renew(t *testing.T) {
	t.Helper()
	if p.command.SysProcAttr.Chroot == "" {
		t.Fatal("kubelet: the volumes of a toolbox are not renewed")
	}
	for _, mount := range p.pod.Spec.Containers[0].VolumeMounts {
		p.kubelet.mount(t, p.pod, mount, p.command.SysProcAttr.Chroot)
	}
}

// mount writes what a volume holds to where it is mounted.
func (k *Kubelet) mount(t *testing.T, pod *corev1.Pod, mount corev1.VolumeMount, root string) {
	t.Helper()
	if mount.SubPath != "" || mount.SubPathExpr != "" {
		t.Fatalf("kubelet: mount %s: by subPath, which no renewed Secret reaches", mount.Name)
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.Name != mount.Name {
			continue
		}
		dir := filepath.Join(root, mount.MountPath)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if volume.EmptyDir != nil {
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			return
		}
		for name, text := range k.files(t, pod, volume) {
			write(t, filepath.Join(dir, name), text)
		}
		return
	}
	t.Fatalf("kubelet: mount %s: no such volume", mount.Name)
}

// write makes a file that the group may read, as defaultMode and fsGroup do.
func write(t *testing.T, path string, text []byte) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), "..next")
	if err := os.WriteFile(next, text, 0o440); err != nil {
		t.Fatal(err)
	}
	if ownsEveryUser() {
		if err := os.Chown(next, 0, imageUser); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// files is what a volume holds, by name.
func (k *Kubelet) files(t *testing.T, pod *corev1.Pod, volume corev1.Volume) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	core := k.Client.CoreV1()
	switch {
	case volume.Secret != nil:
		secret, err := core.Secrets(pod.Namespace).Get(t.Context(), volume.Secret.SecretName, metav1.GetOptions{})
		if optional := volume.Secret.Optional; apierrors.IsNotFound(err) && optional != nil && *optional {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		pick(t, files, volume.Secret.Items, secret.Data)
	case volume.ConfigMap != nil:
		found, err := core.ConfigMaps(pod.Namespace).Get(t.Context(), volume.ConfigMap.Name, metav1.GetOptions{})
		if optional := volume.ConfigMap.Optional; apierrors.IsNotFound(err) && optional != nil && *optional {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		pick(t, files, volume.ConfigMap.Items, bytesOf(found.Data))
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			k.project(t, pod, source, files)
		}
	default:
		t.Fatalf("kubelet: volume %s: unforeseen", volume.Name)
	}
	return files
}

// pick takes the keys that are asked for, or all.
func pick(t *testing.T, files map[string][]byte, items []corev1.KeyToPath, data map[string][]byte) {
	t.Helper()
	if len(items) == 0 {
		for key := range data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			t.Fatalf("kubelet: no key %s", item.Key)
		}
		files[item.Path] = value
	}
}

func bytesOf(data map[string]string) map[string][]byte {
	all := map[string][]byte{}
	for key, value := range data {
		all[key] = []byte(value)
	}
	return all
}

// project adds the files of one source of a projected volume.
func (k *Kubelet) project(t *testing.T, pod *corev1.Pod, source corev1.VolumeProjection, files map[string][]byte) {
	t.Helper()
	switch {
	case source.ServiceAccountToken != nil:
		files[source.ServiceAccountToken.Path] = []byte(k.token(t, pod, source.ServiceAccountToken.ExpirationSeconds))
	case source.Secret != nil:
		found, err := k.Client.CoreV1().Secrets(pod.Namespace).Get(t.Context(), source.Secret.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pick(t, files, source.Secret.Items, found.Data)
	case source.ConfigMap != nil:
		found, err := k.Client.CoreV1().ConfigMaps(pod.Namespace).Get(t.Context(), source.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pick(t, files, source.ConfigMap.Items, bytesOf(found.Data))
	case source.DownwardAPI != nil:
		for _, item := range source.DownwardAPI.Items {
			if item.FieldRef == nil || item.FieldRef.FieldPath != "metadata.namespace" {
				t.Fatalf("kubelet: file %s: unforeseen field", item.Path)
			}
			files[item.Path] = []byte(pod.Namespace)
		}
	default:
		t.Fatalf("kubelet: Pod %s: unforeseen projection", pod.Name)
	}
}

// token asks for the token of the Pod's ServiceAccount, bound to the Pod.
func (k *Kubelet) token(t *testing.T, pod *corev1.Pod, seconds *int64) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	answer, err := k.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}
