{{/* The Pod, and what it is told. */}}

{{/* A value as the text of a variable. Numbers of a values file are floats: 1000000 must not become 1e+06. */}}
{{- define "views.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}
{{- else }}{{ toString . }}
{{- end }}
{{- end }}

{{- define "views.port" -}}
{{- regexFind "[0-9]+$" .Values.views.viewsAddress }}
{{- end }}

{{- define "views.xdsPort" -}}
{{- regexFind "[0-9]+$" .Values.views.xdsAddress }}
{{- end }}

{{- define "views.metricsPort" -}}
{{- regexFind "[0-9]+$" .Values.views.metricsAddress }}
{{- end }}

{{/* The namespaces that are shown, as a JSON list; empty for all. */}}
{{- define "views.namespaces" -}}
{{- if has "*" .Values.namespaces }}[]
{{- else }}{{ .Values.namespaces | default (list .Release.Namespace) | toJson }}
{{- end }}
{{- end }}

{{- define "views.usesClientCA" -}}
{{- if or .Values.tls.clientCA.secretName .Values.tls.clientCA.configMapName .Values.certificates.by }}true{{ end }}
{{- end }}

{{/* The clients that show a token, as a JSON list. */}}
{{- define "views.tokenClients" -}}
{{- $found := list }}
{{- range include "views.clients" . | fromJsonArray }}
{{- if .tokenSecret }}{{ $found = append $found . }}{{ end }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{/* The file of a client's token: the namespace has no dot, so two clients never share one. */}}
{{- define "views.tokenName" -}}
{{ .name | replace "/" "." }}
{{- end }}

{{/* The variables. Each key of .Values.views is one: viewsMaxClients is VIEWS_MAX_CLIENTS. */}}
{{- define "views.env" -}}
{{- $env := dict }}
{{- range $key, $value := .Values.views }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "") (and (hasPrefix "xds" $key) (not $.Values.xds.enabled))) }}
{{- $_ := set $env (snakecase $key | upper) (include "views.text" $value) }}
{{- end }}
{{- end }}
{{- with include "views.namespaces" . | fromJsonArray }}
{{- $_ := set $env "VIEWS_NAMESPACES" (join "," .) }}
{{- end }}
{{- $_ := set $env "VIEWS_TLS_CERT_FILE" "/var/run/secrets/tls/tls.crt" }}
{{- $_ := set $env "VIEWS_TLS_KEY_FILE" "/var/run/secrets/tls/tls.key" }}
{{- $_ := set $env "VIEWS_IDENTITIES_FILE" "/etc/endpoint-views/identities.yaml" }}
{{- if .Values.xds.enabled }}
{{- /* Also without fleets: the first one takes effect without a restart, too. */}}
{{- $_ := set $env "XDS_FLEETS_FILE" "/etc/endpoint-views/fleets.yaml" }}
{{- if include "views.watchesFleets" . }}
{{- $_ := set $env "XDS_WATCH_FLEETS" "true" }}
{{- end }}
{{- end }}
{{- if include "views.usesClientCA" . }}
{{- $_ := set $env "VIEWS_CLIENT_CA_FILE" "/var/run/secrets/client-ca/ca.crt" }}
{{- end }}
{{- range .Values.extraEnv }}
{{- $_ := unset $env .name }}
{{- end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Mounted as folders, never by subPath: only so does what is renewed arrive without a restart. */}}
{{- define "views.volumeMounts" -}}
- name: identities
  mountPath: /etc/endpoint-views
  readOnly: true
- name: tls
  mountPath: /var/run/secrets/tls
  readOnly: true
{{- if include "views.usesClientCA" . }}
- name: client-ca
  mountPath: /var/run/secrets/client-ca
  readOnly: true
{{- end }}
{{- if include "views.tokenClients" . | fromJsonArray }}
- name: tokens
  mountPath: /var/run/secrets/tokens
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "views.volumes" -}}
{{- $ca := .Values.tls.clientCA }}
- name: identities
  configMap:
    name: {{ include "views.fullname" . }}-identities
    defaultMode: 0444
- name: tls
  secret:
    secretName: {{ include "views.tlsSecret" . }}
    defaultMode: 0440
    items:
      - key: tls.crt
        path: tls.crt
      - key: tls.key
        path: tls.key
{{- if include "views.usesClientCA" . }}
- name: client-ca
  {{- if or $ca.secretName .Values.certificates.by }}
  secret:
    secretName: {{ $ca.secretName | default (include "views.tlsSecret" .) }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ $ca.configMapName }}
    defaultMode: 0444
  {{- end }}
    items:
      - key: {{ ternary "ca.crt" $ca.key (ne .Values.certificates.by "") }}
        path: ca.crt
{{- end }}
{{- with include "views.tokenClients" . | fromJsonArray }}
- name: tokens
  projected:
    defaultMode: 0440
    sources:
      {{- range . }}
      - secret:
          name: {{ .tokenSecret.name }}
          items:
            - key: {{ .tokenSecret.key | default "token" }}
              path: {{ include "views.tokenName" . }}
      {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The container without its probes and ports. */}}
{{- define "views.container" -}}
name: endpoint-views
image: {{ include "views.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
env:
  {{- include "views.env" . | trim | nindent 2 }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  {{- include "views.volumeMounts" . | trim | nindent 2 }}
{{- end }}

{{/* What the specification of the Pod begins with. */}}
{{- define "views.podSpec" -}}
serviceAccountName: {{ include "views.serviceAccountName" . }}
automountServiceAccountToken: true
# A Service called "views" in the namespace would otherwise set variables that begin with VIEWS_.
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
volumes:
  {{- include "views.volumes" . | trim | nindent 2 }}
{{- end }}
