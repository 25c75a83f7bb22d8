{{/* What things are called, and the labels they carry. */}}

{{- define "controller.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{/* The release's name, with the chart's unless it says so already; short enough for every suffix. */}}
{{- define "controller.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "controller.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "controller.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Objects of the whole cluster have the namespace in their name: releases of other namespaces have theirs. */}}
{{- define "controller.clusterName" -}}
{{- printf "%s.%s" .Release.Namespace (include "controller.fullname" .) }}
{{- end }}

{{/* What the daemon's Pods and the test's have in common. */}}
{{- define "controller.instanceLabels" -}}
app.kubernetes.io/name: {{ include "controller.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* What only the daemon's Pods have. */}}
{{- define "controller.selectorLabels" -}}
{{ include "controller.instanceLabels" . }}
app.kubernetes.io/component: controller
{{- end }}

{{/* What tells the Pods of this configuration from those of another one, which replace them: another one of these replaces
them anyway. The NetworkPolicies need it. */}}
{{- define "controller.configuration" -}}
{{- include "controller.env" . | sha256sum | trunc 16 }}
{{- end }}

{{- define "controller.configurationLabel" -}}
{{- if .Values.networkPolicy.enabled -}}
endpoints.ablmnzde.github.io/configuration: {{ include "controller.configuration" . | quote }}
{{- end }}
{{- end }}

{{/* Of every object; the component is added by those that have one. */}}
{{- define "controller.labels" -}}
{{ include "controller.labelsWith" (list . dict) }}
{{- end }}

{{/* The same with labels of one object, which win over those of all. */}}
{{- define "controller.labelsWith" -}}
{{- $more := index . 1 }}
{{- with index . 0 }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "controller.instanceLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with merge (dict) $more .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{/* One of .Values.extraObjects, rendered: a list of the root and the object, as YAML or as text. */}}
{{- define "controller.extraObject" -}}
{{- $object := index . 1 }}
{{- tpl (ternary $object (toYaml $object) (kindIs "string" $object)) (index . 0) }}
{{- end }}

{{/* The image's tag: the chart's own version, unless there is another one or a digest. What programs are run needs the toolbox. */}}
{{- define "controller.tag" -}}
{{- if .Values.image.tag }}{{ include "controller.text" .Values.image.tag }}
{{- else if not .Values.image.digest }}{{ .Chart.AppVersion }}
{{- if include "controller.usesTmp" . }}-toolbox{{ end }}
{{- end }}
{{- end }}

{{- define "controller.image" -}}
{{ .Values.image.repository }}
{{- with include "controller.tag" . }}:{{ . }}{{ end }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* Rules or a dashboard, of a list of the root and a file, with links to the runbooks of the version. Not tpl: what stands in braces there is the reader's own. */}}
{{- define "controller.monitoring" -}}
{{- $root := index . 0 }}
{{- $main := "https://github.com/ablmnzde/ionoscloud-endpointslice-controller/blob/main/docs/runbooks/" }}
{{- $version := ternary "main" $root.Chart.AppVersion (eq $root.Chart.AppVersion "unreleased") }}
{{- $url := $root.Values.metrics.runbookURL | default (replace "/main/" (printf "/%s/" $version) $main) }}
{{- $root.Files.Get (index . 1) | replace $main $url }}
{{- end }}
