package v1alpha1

// Annotations of a Service. They are the short form of a binding, and are named like
// the variables and the fields. A binding with the name of the Service wins over them.
// Another annotation with this prefix is reported and has no effect.
const (
	// AnnotationPool names the pool that backs the Service. An empty value is no pool:
	// nothing fills the Service.
	AnnotationPool = GroupName + "/pool"
	// AnnotationHealthCheckMode is spec.healthCheck.mode of a binding, and so on.
	AnnotationHealthCheckMode           = GroupName + "/health-check-mode"
	AnnotationHealthCheckPath           = GroupName + "/health-check-path"
	AnnotationHealthCheckHost           = GroupName + "/health-check-host"
	AnnotationHealthCheckPort           = GroupName + "/health-check-port"
	AnnotationHealthCheckExpectedStatus = GroupName + "/health-check-expected-status"

	// AnnotationViews is no setting of a binding: endpoint-views shows a Service that has
	// it with the value "true".
	AnnotationViews = GroupName + "/views"
	// AnnotationFleets and those below it are for endpoint-views too: what its clients do
	// with the Service.
	AnnotationFleets                  = GroupName + "/fleets"
	AnnotationProxyProtocol           = GroupName + "/proxy-protocol"
	AnnotationTLSCertificateAuthority = GroupName + "/tls-certificate-authority"
	AnnotationTLSServerName           = GroupName + "/tls-server-name"
	AnnotationTLSInsecureSkipVerify   = GroupName + "/tls-insecure-skip-verify"
)

// LabelPool is on each EndpointSlice of a Service and names the pool that fills it.
const LabelPool = GroupName + "/pool"

// BindingAnnotations are the annotations that choose a pool and a health check, in the
// order of the fields of a binding.
func BindingAnnotations() []string {
	return []string{
		AnnotationPool, AnnotationHealthCheckMode, AnnotationHealthCheckPath, AnnotationHealthCheckHost,
		AnnotationHealthCheckPort, AnnotationHealthCheckExpectedStatus,
	}
}

// ViewAnnotations are the annotations of a Service that endpoint-views reads.
func ViewAnnotations() []string {
	return []string{
		AnnotationViews, AnnotationFleets, AnnotationProxyProtocol,
		AnnotationTLSCertificateAuthority, AnnotationTLSServerName, AnnotationTLSInsecureSkipVerify,
	}
}
