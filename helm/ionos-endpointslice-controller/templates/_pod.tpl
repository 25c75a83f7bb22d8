{{/* The Pod: what the daemon and the test that runs "check" have in common. */}}

{{/* The remote cluster's kubeconfig is mounted for the sources that read it, unless IONOS_CLUSTER_ID says the nodes. */}}
{{- define "controller.usesKubeconfigSecret" -}}
{{- $c := .Values.controller }}
{{- if and .Values.secrets.kubeconfig.name (not $c.securedKubeconfig) (not (include "controller.byDocuments" .)) }}
{{- if or (eq $c.sourceKind "kubernetes") (and (has $c.sourceKind (list "ionos" "command")) (not $c.ionosClusterId)) }}true{{ end }}
{{- end }}
{{- end }}

{{/* Which sources other pools have is not known here, so both are asked. */}}
{{- define "controller.asksIONOS" -}}
{{- if include "controller.byDocuments" . }}
{{- if or (include "controller.hasOtherPools" .) (include "controller.mayHave" (list . (list "ionos" "command") (list "token" "password"))) }}true{{ end }}
{{- else if has .Values.controller.sourceKind (list "ionos" "command") }}true{{ end }}
{{- end }}

{{- define "controller.asksRemote" -}}
{{- if include "controller.byDocuments" . }}
{{- if or (include "controller.hasOtherPools" .) (include "controller.mayHave" (list . (list "kubernetes" "ionos" "command") (list "kubeconfig"))) }}true{{ end }}
{{- else if or (include "controller.usesKubeconfigSecret" .) .Values.controller.securedKubeconfig }}true{{ end }}
{{- end }}

{{- define "controller.asksKubernetes" -}}
{{- if or (ne .Values.controller.storeKind "memory") (eq (toString .Values.controller.leaderElection) "true") }}true{{ end }}
{{- end }}

{{- define "controller.usesTokenSecret" -}}
{{- $c := .Values.controller }}
{{- if and (include "controller.asksIONOS" .) (not (include "controller.byDocuments" .)) .Values.secrets.ionosToken.name (not $c.ionosTokenFile) (not $c.ionosUsername) }}true{{ end }}
{{- end }}

{{- define "controller.usesPasswordSecret" -}}
{{- $c := .Values.controller }}
{{- if and (include "controller.asksIONOS" .) (not (include "controller.byDocuments" .)) .Values.secrets.ionosPassword.name (not $c.ionosPasswordFile) $c.ionosUsername }}true{{ end }}
{{- end }}

{{/* The API server is asked as the ServiceAccount, unless nothing is asked or a kubeconfig says as whom. */}}
{{- define "controller.usesServiceAccount" -}}
{{- $c := .Values.controller }}
{{- if and (ne $c.storeKind "memory") (not $c.kubeconfig) }}true{{ end }}
{{- end }}

{{/* Programs that the daemon starts want a HOME that can be written. */}}
{{- define "controller.usesTmp" -}}
{{- if include "controller.byDocuments" . }}
{{- if include "controller.poolsOf" (list . "command") | fromJsonArray }}true{{ end }}
{{- else if or (eq .Values.controller.sourceKind "command") (eq .Values.controller.storeKind "kubectl") }}true{{ end }}
{{- end }}

{{/* A value as the text of a variable. Numbers of a values file are floats: 1000000 must not become 1e+06. */}}
{{- define "controller.text" -}}
{{- if kindIs "slice" . }}{{ join "," . }}
{{- else if kindIs "float64" . }}{{ int64 . }}
{{- else }}{{ toString . }}
{{- end }}
{{- end }}

{{/* The variables. Each key of .Values.controller is one: healthCheckInterval is HEALTH_CHECK_INTERVAL. */}}
{{- define "controller.env" -}}
{{- $env := dict }}
{{- range $key, $value := .Values.controller }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "") (eq (toString $value) "[]")) }}
{{- $_ := set $env (snakecase $key | upper) (include "controller.text" $value) }}
{{- end }}
{{- end }}
{{- if .Values.controller.targetPorts }}
{{- $_ := unset $env "TARGET_PORT" }}
{{- end }}
{{- with include "controller.healthCheckMode" . }}
{{- $_ := set $env "HEALTH_CHECK_MODE" . }}
{{- end }}
{{- if include "controller.byDocuments" . }}
{{- range $key, $field := include "controller.keysOfDocuments" . | fromYaml }}
{{- $_ := unset $env (snakecase $key | upper) }}
{{- end }}
{{- if or .Values.controller.documentsDir (include "controller.mountsDocuments" .) }}
{{- $_ := set $env "DOCUMENTS_DIR" (include "controller.documentsDir" .) }}
{{- end }}
{{- if include "controller.byAPI" . }}
{{- $namespaces := ternary "*" (join "," .Values.bounds.namespaces) (eq (include "controller.boundByCluster" .) "true") }}
{{- $bounds := dict "BOUNDS_SUBNETS" (join "," .Values.bounds.subnets) "BOUNDS_NAMESPACES" $namespaces "BOUNDS_PORTS" (include "controller.text" .Values.bounds.ports) }}
{{- $env = merge $env $bounds }}
{{- end }}
{{- with .Values.bounds.leaving }}
{{- $_ := set $env "BOUNDS_LEAVING" (join "," .) }}
{{- end }}
{{- if .Values.credentials }}
{{- $_ := set $env "CREDENTIALS_DIR" "/etc/endpoints/credentials" }}
{{- end }}
{{- else }}
{{- $_ := set $env "TARGET_NAMESPACE" (include "controller.targetNamespace" .) }}
{{- end }}
{{- $_ := set $env "LEADER_ELECTION_NAMESPACE" (include "controller.leaseNamespace" .) }}
{{- $_ := set $env "LEADER_ELECTION_NAME" (include "controller.leaseName" .) }}
{{- if include "controller.usesKubeconfigSecret" . }}
{{- $_ := set $env "SECURED_KUBECONFIG" "/var/run/secrets/remote/kubeconfig" }}
{{- end }}
{{- if include "controller.usesTokenSecret" . }}
{{- $_ := set $env "IONOS_TOKEN_FILE" "/var/run/secrets/ionos/token" }}
{{- end }}
{{- if include "controller.usesPasswordSecret" . }}
{{- $_ := set $env "IONOS_PASSWORD_FILE" "/var/run/secrets/ionos/password" }}
{{- end }}
{{- if include "controller.usesTmp" . }}
{{- $_ := set $env "HOME" "/tmp" }}
{{- end }}
{{- $node := ne (toString .Values.controller.leaderElection) "true" }}
{{- range .Values.extraEnv }}
{{- $_ := unset $env .name }}
{{- $node = or $node (eq .name "NODE_NAME") }}
{{- end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- if not $node }}
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Secrets are mounted as folders, never by subPath: only so does a renewed one arrive without a restart. */}}
{{- define "controller.volumeMounts" -}}
{{- if or (include "controller.usesTokenSecret" .) (include "controller.usesPasswordSecret" .) }}
- name: ionos
  mountPath: /var/run/secrets/ionos
  readOnly: true
{{- end }}
{{- if include "controller.usesKubeconfigSecret" . }}
- name: remote
  mountPath: /var/run/secrets/remote
  readOnly: true
{{- end }}
{{- if include "controller.mountsDocuments" . }}
- name: documents
  mountPath: {{ include "controller.documentsDir" . }}
  readOnly: true
{{- end }}
{{- range $name, $_ := .Values.credentials }}
- name: credentials-{{ $name }}
  mountPath: /etc/endpoints/credentials/{{ $name }}
  readOnly: true
{{- end }}
{{- if .Values.files }}
- name: files
  mountPath: /etc/ionos-endpointslice-controller
  readOnly: true
{{- end }}
{{- if include "controller.usesTmp" . }}
- name: tmp
  mountPath: /tmp
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "controller.volumes" -}}
{{- $secrets := .Values.secrets }}
{{- if include "controller.usesTokenSecret" . }}
- name: ionos
  secret:
    secretName: {{ $secrets.ionosToken.name }}
    defaultMode: 0440
    items:
      - key: {{ $secrets.ionosToken.key }}
        path: token
{{- else if include "controller.usesPasswordSecret" . }}
- name: ionos
  secret:
    secretName: {{ $secrets.ionosPassword.name }}
    defaultMode: 0440
    items:
      - key: {{ $secrets.ionosPassword.key }}
        path: password
{{- end }}
{{- if include "controller.usesKubeconfigSecret" . }}
- name: remote
  secret:
    secretName: {{ $secrets.kubeconfig.name }}
    defaultMode: 0440
    items:
      - key: {{ $secrets.kubeconfig.key }}
        path: kubeconfig
{{- end }}
{{- if include "controller.mountsDocuments" . }}
- name: documents
  configMap:
    name: {{ include "controller.fullname" . }}-documents
    defaultMode: 0444
{{- end }}
{{- range $name, $from := .Values.credentials }}
- name: credentials-{{ $name }}
  secret:
    secretName: {{ $from.secretName }}
    defaultMode: 0440
    # A Secret that is missing concerns its pools only. It must not keep the Pod from starting.
    optional: true
    {{- with $from.keys }}
    items:
      {{- range $file, $key := . }}
      - key: {{ $key }}
        path: {{ $file }}
      {{- end }}
    {{- end }}
{{- end }}
{{- if .Values.files }}
- name: files
  configMap:
    name: {{ include "controller.fullname" . }}-files
    defaultMode: 0555
{{- end }}
{{- if include "controller.usesTmp" . }}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The container without its probes and ports. */}}
{{- define "controller.container" -}}
name: controller
image: {{ include "controller.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
env:
  {{- include "controller.env" . | trim | nindent 2 }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
{{- with include "controller.volumeMounts" . | trim }}
volumeMounts:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the specifications of both Pods begin with. */}}
{{- define "controller.podSpec" -}}
serviceAccountName: {{ include "controller.serviceAccountName" . }}
automountServiceAccountToken: {{ eq (include "controller.usesServiceAccount" .) "true" }}
# A Service called "target" in the namespace would otherwise set TARGET_PORT.
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with .Values.dnsPolicy | default (and .Values.hostNetwork "ClusterFirstWithHostNet") }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
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
{{- with include "controller.volumes" . | trim }}
volumes:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
