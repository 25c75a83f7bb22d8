{{/* What is filled: the target's namespace, its slices, subnets and ports, as the daemon will see them. */}}

{{- define "controller.targetNamespace" -}}
{{- .Values.controller.targetNamespace | default .Release.Namespace }}
{{- end }}

{{- define "controller.leaseNamespace" -}}
{{- $own := ternary .Release.Namespace (include "controller.targetNamespace" .) (eq (include "controller.byDocuments" .) "true") }}
{{- .Values.controller.leaderElectionNamespace | default $own }}
{{- end }}

{{- define "controller.leaseName" -}}
{{- .Values.controller.leaderElectionName | default (include "controller.fullname" .) }}
{{- end }}

{{- define "controller.managedBy" -}}
{{- .Values.controller.targetManagedBy | default "ionos-endpointslice-controller" }}
{{- end }}

{{/* A list, or text separated by commas, as a JSON array of trimmed text. */}}
{{- define "controller.list" -}}
{{- $items := list }}
{{- $given := . }}
{{- if not (kindIs "slice" $given) }}
{{- $given = splitList "," (toString (default "" $given)) }}
{{- end }}
{{- range $given }}
{{- with trim (toString .) }}
{{- $items = append $items . }}
{{- end }}
{{- end }}
{{- toJson $items }}
{{- end }}

{{- define "controller.subnets" -}}
{{- include "controller.list" .Values.controller.securedSubnetCidr }}
{{- end }}

{{/* The names that the slices can have, as a JSON array: <name>, <name>-2 and so on, those of IPv6 with -ipv6. Those of a
family without a subnet are among them: after an upgrade its endpoints have to leave. */}}
{{- define "controller.sliceNames" -}}
{{- $base := .Values.controller.targetEndpointsliceName | default (printf "%s-remote" .Values.controller.targetServiceName) }}
{{- $names := list }}
{{- range $name := list $base (printf "%s-ipv6" $base) }}
{{- $names = append $names $name }}
{{- range $i := untilStep 2 (int (add1 $.Values.rbac.maxSlices)) 1 }}
{{- $names = append $names (printf "%s-%d" $name $i) }}
{{- end }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{/* The backends' ports as a JSON array of {"port": 8080, "protocol": "TCP"}. */}}
{{- define "controller.ports" -}}
{{- $ports := list }}
{{- range include "controller.list" .Values.controller.targetPorts | fromJsonArray }}
{{- $number := regexReplaceAll "^.*=|/.*$" . "" | nospace }}
{{- $protocol := ternary (regexReplaceAll "^.*/" . "" | nospace | upper) "TCP" (contains "/" .) }}
{{- $ports = append $ports (dict "port" (int $number) "protocol" $protocol) }}
{{- else }}
{{- $ports = append $ports (dict "port" (int .Values.controller.targetPort) "protocol" "TCP") }}
{{- end }}
{{- toJson $ports }}
{{- end }}

{{/* YAML reads off without quotes as false. */}}
{{- define "controller.healthCheckMode" -}}
{{- $mode := .Values.controller.healthCheckMode }}
{{- ternary "off" (default "" $mode) (kindIs "bool" $mode) }}
{{- end }}

{{/* The TCP ports that are checked, as a JSON array of numbers. */}}
{{- define "controller.checkedPorts" -}}
{{- $numbers := list }}
{{- if eq (include "controller.healthCheckMode" .) "off" }}
{{- else if .Values.controller.healthCheckPort }}
{{- $numbers = list (int .Values.controller.healthCheckPort) }}
{{- else }}
{{- range include "controller.ports" . | fromJsonArray }}
{{- if eq .protocol "TCP" }}
{{- $numbers = append $numbers (int .port) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $numbers }}
{{- end }}

{{- define "controller.metricsPort" -}}
{{- regexFind "[0-9]+$" .Values.controller.metricsAddress }}
{{- end }}
