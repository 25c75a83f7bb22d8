{{/* Who has which certificate. */}}

{{/* Short: the name of a CronJob has at most 52 characters. */}}
{{- define "views.certificatesName" -}}
{{ include "views.fullname" . | trunc 39 | trimSuffix "-" }}-certificates
{{- end }}

{{- define "views.certificatesLabels" -}}
{{ include "views.instanceLabels" . }}
app.kubernetes.io/component: certificates
{{- end }}

{{/* The Secret with the server's certificate. */}}
{{- define "views.tlsSecret" -}}
{{- if .Values.certificates.by }}{{ include "views.fullname" . }}-tls
{{- else }}{{ .Values.tls.secretName }}
{{- end }}
{{- end }}

{{- define "views.authoritySecret" -}}
{{ include "views.fullname" . }}-authority
{{- end }}

{{/* The names by which the server is reached, as a JSON list. */}}
{{- define "views.serverNames" -}}
{{- $all := list }}
{{- range $name := list (include "views.fullname" .) (include "views.replicasName" .) }}
{{- range $end := list "" ".svc" ".svc.cluster.local" }}
{{- $all = append $all (printf "%s.%s%s" $name $.Release.Namespace $end) }}
{{- end }}
{{- end }}
{{- toJson $all }}
{{- end }}

{{/* The fleets with a certificate: a JSON list of namespace, name and secret. */}}
{{- define "views.certifiedFleets" -}}
{{- $all := list }}
{{- range .Values.certificates.fleets }}
{{- $parts := splitList "/" .name }}
{{- $all = append $all (dict "namespace" (first $parts) "name" (last $parts) "secret" (.secretName | default (printf "%s-xds" (last $parts)))) }}
{{- end }}
{{- toJson $all }}
{{- end }}

{{/* What one run is told. */}}
{{- define "views.certificatesArgs" -}}
- certificates
- --authority={{ .Release.Namespace }}/{{ include "views.authoritySecret" . }}
- --server={{ .Release.Namespace }}/{{ include "views.tlsSecret" . }}
{{- range include "views.serverNames" . | fromJsonArray }}
- --server-name={{ . }}
{{- end }}
{{- if .Values.fleet.enabled }}
- --token={{ .Release.Namespace }}/{{ include "views.fleetSecret" . }}
{{- end }}
{{- range include "views.certifiedFleets" . | fromJsonArray }}
- --fleet={{ .namespace }}/{{ .name }}={{ .secret }}
{{- end }}
{{- end }}

{{/* Without the chart's version: a new one alone makes no other Job. */}}
{{- define "views.certificatesPod" -}}
metadata:
  labels:
    {{- include "views.certificatesLabels" . | nindent 4 }}
    {{- with merge (dict) .Values.podLabels .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "views.certificatesName" . }}
  automountServiceAccountToken: true
  restartPolicy: OnFailure
  {{- include "views.podBasics" . | nindent 2 }}
  containers:
    - name: certificates
      image: {{ include "views.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- include "views.certificatesArgs" . | nindent 8 }}
      {{- with .Values.views.viewsTrustDomain }}
      env:
        - name: VIEWS_TRUST_DOMAIN
          value: {{ . | quote }}
      {{- end }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      resources:
        {{- toYaml .Values.certificates.resources | nindent 8 }}
{{- end }}
