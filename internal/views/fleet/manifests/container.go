package manifests

import (
	"cmp"
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// The volumes of a Pod, and where the program for draining is.
const (
	bootstrapVolume = "bootstrap"
	programVolume   = "program"
	programFolder   = "/opt/endpoint-views"
	programName     = "endpoint-views"
)

// install copies the program that drains, because the image of Envoy has none, and waits
// for the bootstrap: what the kubelet knows of a ConfigMap may be older than the Pod.
func install(s Settings, hash string) corev1.Container {
	return corev1.Container{
		Name: "install", Image: s.DrainImage, ImagePullPolicy: corev1.PullIfNotPresent,
		Args: []string{"drain", "--install", programFolder, "--await", bootstrapPath(hash)},
		VolumeMounts: []corev1.VolumeMount{
			{Name: programVolume, MountPath: programFolder},
			{Name: bootstrapVolume, MountPath: envoyconfig.PodBootstrapFolder, ReadOnly: true},
		},
		Resources: corev1.ResourceRequirements{
			Requests: quantities("10m", "32Mi"), Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		},
		// So that the condition Ready has the words of a program that ends.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          restricted(),
	}
}

func bootstrapPath(hash string) string {
	return path.Join(envoyconfig.PodBootstrapFolder, FileOf(hash))
}

// envoy is the container of Envoy. It has no liveness probe: an Envoy that waits for its
// control plane, or that is busy, must not be killed for it.
func envoy(e *v1alpha1.Envoy, s Settings, hash string, mounts []corev1.VolumeMount) corev1.Container {
	wanted := needs(e)
	args := []string{"-c", bootstrapPath(hash), "--service-node", "$(POD)", "--disable-hot-restart", "--drain-strategy", "immediate"}
	if cpu, limited := wanted.Limits[corev1.ResourceCPU]; limited {
		// Otherwise Envoy takes as many threads as the node has processors.
		args = append(args, "--concurrency", strconv.FormatInt(max(1, cpu.Value()), 10))
	}
	return corev1.Container{
		Name: "envoy", Image: cmp.Or(e.Spec.Image, s.EnvoyImage), ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"envoy"}, Args: args,
		Env: []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
		}}},
		Ports:        containerPorts(e),
		VolumeMounts: mounts,
		Resources:    wanted,
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: envoyconfig.ReadyPath, Port: intstr.FromString(envoyconfig.HealthName), Scheme: corev1.URISchemeHTTP}},
			PeriodSeconds: 3, TimeoutSeconds: 3, SuccessThreshold: 1, FailureThreshold: 3,
		},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
			Command: []string{path.Join(programFolder, programName), "drain", "--timeout", drainTimeout(e).String()},
		}}},
		// So that the condition Ready has the words of a program that ends.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          restricted(),
	}
}

// needs are the resources of the container.
func needs(e *v1alpha1.Envoy) corev1.ResourceRequirements {
	if theirs := e.Spec.PodTemplate.Resources; theirs != nil {
		return *theirs.DeepCopy()
	}
	return corev1.ResourceRequirements{
		Requests: quantities("100m", "128Mi"), Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}
}

func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// containerPorts are those of listeners, and that of readiness and metrics.
func containerPorts(e *v1alpha1.Envoy) []corev1.ContainerPort {
	var all []corev1.ContainerPort
	for _, p := range ports(e) {
		all = append(all, corev1.ContainerPort{Name: p.name, ContainerPort: p.pod, Protocol: corev1.ProtocolTCP})
	}
	return append(all, corev1.ContainerPort{Name: envoyconfig.HealthName, ContainerPort: envoyconfig.HealthPort, Protocol: corev1.ProtocolTCP})
}

// volumes are those of the Pod, and where its Envoy has them.
func volumes(e *v1alpha1.Envoy) (all []corev1.Volume, mounts []corev1.VolumeMount) {
	add := func(name, path string, source corev1.VolumeSource) {
		all = append(all, corev1.Volume{Name: name, VolumeSource: source})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: true})
	}
	secret := func(volume, name, path string) {
		add(volume, path, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: new(int32(0o440))}})
	}
	add(bootstrapVolume, envoyconfig.PodBootstrapFolder, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: e.Spec.ConfigMapName}, DefaultMode: new(int32(0o444)),
	}})
	add(programVolume, programFolder, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("256Mi"))}})
	if name := certificate(e); name != "" {
		secret("control-plane", name, envoyconfig.PodCertificateFolder)
	}
	for i, name := range secrets(e) {
		secret("secret-"+strconv.Itoa(i), name, envoyconfig.PodSecretFolder(name)) // the name of a Secret may be too long for a volume
	}
	return all, mounts
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
