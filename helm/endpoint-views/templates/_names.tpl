{{/* What things are called, and the labels they carry. */}}

{{- define "views.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{/* The release's name, with the chart's unless it says so already; short enough for every suffix. */}}
{{- define "views.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "views.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "views.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Objects of the whole cluster have the namespace in their name: releases of other namespaces have theirs. */}}
{{- define "views.clusterName" -}}
{{- printf "%s.%s" .Release.Namespace (include "views.fullname" .) }}
{{- end }}

{{/* What every object of the release has. */}}
{{- define "views.instanceLabels" -}}
app.kubernetes.io/name: {{ include "views.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* What only the Pods have. */}}
{{- define "views.selectorLabels" -}}
{{ include "views.instanceLabels" . }}
app.kubernetes.io/component: views
{{- end }}

{{/* Of every object; the component is added by those that have one. */}}
{{- define "views.labels" -}}
{{ include "views.labelsWith" (list . dict) }}
{{- end }}

{{/* The same with labels of one object, which win over those of all. */}}
{{- define "views.labelsWith" -}}
{{- $more := index . 1 }}
{{- with index . 0 }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "views.instanceLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with merge (dict) $more .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{/* One of .Values.extraObjects, rendered: a list of the root and the object, as YAML or as text. */}}
{{- define "views.extraObject" -}}
{{- $object := index . 1 }}
{{- tpl (ternary $object (toYaml $object) (kindIs "string" $object)) (index . 0) }}
{{- end }}

{{/* The image's tag: the chart's own version, unless there is another one or a digest. */}}
{{- define "views.tag" -}}
{{- if .Values.image.tag }}{{ include "views.text" .Values.image.tag }}
{{- else if not .Values.image.digest }}{{ .Chart.AppVersion }}-endpoint-views
{{- end }}
{{- end }}

{{- define "views.image" -}}
{{ .Values.image.repository }}
{{- with include "views.tag" . }}:{{ . }}{{ end }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* Rules or a dashboard, of a list of the root and a file, with links to the runbooks of the version. Not tpl: what stands in braces there is the reader's own. */}}
{{- define "views.monitoring" -}}
{{- $root := index . 0 }}
{{- $main := "https://github.com/ablmnzde/ionoscloud-endpointslice-controller/blob/main/docs/runbooks/" }}
{{- $version := ternary "main" $root.Chart.AppVersion (eq $root.Chart.AppVersion "unreleased") }}
{{- $url := $root.Values.metrics.runbookURL | default (replace "/main/" (printf "/%s/" $version) $main) }}
{{- $root.Files.Get (index . 1) | replace $main $url }}
{{- end }}
