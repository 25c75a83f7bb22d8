{{/* The operator of fleets, and what it needs of the rest. */}}

{{- define "views.fleetName" -}}
{{ include "views.fullname" . }}-fleet
{{- end }}

{{/* The headless Service, whose addresses are the replicas. */}}
{{- define "views.replicasName" -}}
{{ include "views.fullname" . }}-replicas
{{- end }}

{{- define "views.fleetAccount" -}}
{{- default (include "views.fleetName" .) .Values.fleet.serviceAccount.name }}
{{- end }}

{{- define "views.fleetLabels" -}}
{{ include "views.instanceLabels" . }}
app.kubernetes.io/component: fleet
{{- end }}

{{/* The namespaces whose Envoys are looked after, as a JSON list; empty for all. */}}
{{- define "views.fleetNamespaces" -}}
{{- if has "*" .Values.fleet.namespaces }}[]
{{- else if .Values.fleet.namespaces }}{{ toJson .Values.fleet.namespaces }}
{{- else }}{{ include "views.namespaces" . }}
{{- end }}
{{- end }}

{{- define "views.watchesFleets" -}}
{{- if and .Values.xds.enabled (or .Values.xds.watchFleets .Values.fleet.enabled) }}true{{ end }}
{{- end }}

{{/* The Secret with the operator's token. */}}
{{- define "views.fleetSecret" -}}
{{- if eq .Values.certificates.by "job" }}{{ include "views.fleetName" . }}
{{- else }}{{ .Values.fleet.secretName }}
{{- end }}
{{- end }}

{{/* The clients that are listed, with the operator, as a JSON list. */}}
{{- define "views.clients" -}}
{{- $all := .Values.clients }}
{{- if .Values.fleet.enabled }}
{{- $token := dict "name" (include "views.fleetSecret" .) "key" "token" }}
{{- $all = append $all (dict "name" (printf "%s/%s" .Release.Namespace (include "views.fleetName" .)) "namespaces" (list "*") "tokenSecret" $token) }}
{{- end }}
{{- toJson $all }}
{{- end }}

{{/* What Pods that are not those of the server have, too. */}}
{{- define "views.podBasics" -}}
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "views.fleetEnv" -}}
{{- $env := dict }}
{{- range $key := list "metricsAddress" "logLevel" "logFormat" }}
{{- with get $.Values.views $key }}
{{- $_ := set $env (snakecase $key | upper) (toString .) }}
{{- end }}
{{- end }}
{{- with include "views.fleetNamespaces" . | fromJsonArray }}
{{- $_ := set $env "FLEET_NAMESPACES" (join "," .) }}
{{- end }}
{{- $host := printf "%s.%s.svc" (include "views.replicasName" .) .Release.Namespace }}
{{- $_ := set $env "FLEET_IMAGE" (include "views.image" .) }}
{{- $_ := set $env "FLEET_ENVOY_IMAGE" .Values.fleet.envoyImage }}
{{- $_ := set $env "FLEET_XDS_SERVER" (printf "%s:%s" $host (include "views.xdsPort" .)) }}
{{- $_ := set $env "FLEET_SERVE_URL" (printf "https://%s:%s" $host (include "views.port" .)) }}
{{- $_ := set $env "FLEET_SERVE_CA_FILE" "/etc/fleet/ca.crt" }}
{{- $_ := set $env "FLEET_SERVE_TOKEN_FILE" "/etc/fleet/token" }}
{{- /* Also with one replica: while it is replaced there are two. */}}
{{- $_ := set $env "FLEET_LEADER_ELECTION" "true" }}
{{- $_ := set $env "FLEET_LEASE_NAMESPACE" .Release.Namespace }}
{{- $_ := set $env "FLEET_LEASE_NAME" (include "views.fleetName" .) }}
{{- range .Values.fleet.extraEnv }}
{{- $_ := unset $env .name }}
{{- end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- with .Values.fleet.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The API server, as in egress of a NetworkPolicy: see networkpolicy.yaml. */}}
{{- define "views.toKubernetes" -}}
{{- with .Values.networkPolicy.egress.kubernetes }}
- ports:
    {{- range .ports }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .cidrs }}
  to:
    {{- range . }}
    - ipBlock:
        cidr: {{ . | quote }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}
