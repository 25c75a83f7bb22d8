{{/* Many Services: pools and bindings of the values, and what may be done for them. */}}

{{/* Documents take the place of variables: those of the values, of a folder that something else fills, or of the API
server. */}}
{{- define "controller.byDocuments" -}}
{{- if or .Values.pools .Values.controller.documentsDir (include "controller.byAPI" .) }}true{{ end }}
{{- end }}

{{- define "controller.byAPI" -}}
{{- if eq (toString .Values.controller.documentsApi) "true" }}true{{ end }}
{{- end }}

{{/* Pools that the chart does not see: it knows their bounds only. */}}
{{- define "controller.hasOtherPools" -}}
{{- if or .Values.controller.documentsDir (include "controller.byAPI" .) }}true{{ end }}
{{- end }}

{{/* The values have documents, which are mounted. */}}
{{- define "controller.mountsDocuments" -}}
{{- if or .Values.pools .Values.bindings }}true{{ end }}
{{- end }}

{{- define "controller.documentsDir" -}}
{{- .Values.controller.documentsDir | default "/etc/endpoints/documents" }}
{{- end }}

{{/* The variables that documents take the place of, and their fields. */}}
{{- define "controller.keysOfDocuments" -}}
sourceKind: source of a pool
securedSubnetCidr: subnets of a pool
securedKubeconfig: credentials of a pool
securedKubectlContext: credentials of a pool
securedNodeSelector: source.kubernetes.nodeSelector of a pool
remoteService: remoteService in pools of a binding
ionosTokenFile: credentials of a pool
ionosUsername: credentials of a pool
ionosPasswordFile: credentials of a pool
ionosDatacenterId: source.ionos.datacenterID of a pool
ionosPrivateLanId: source.ionos.lanID of a pool
ionosClusterId: source.ionos.clusterID of a pool
sourcePollInterval: pollInterval of a pool
staticNodes: source.static.nodes of a pool
inventoryFilePath: source.file.path of a pool
inventoryCommand: source.command.path of a pool
inventoryCommandArgs: source.command.args of a pool
targetNamespace: NAMESPACE in bindings.NAMESPACE.SERVICE
targetServiceName: SERVICE in bindings.NAMESPACE.SERVICE
targetPort: ports of a binding
targetPorts: ports of a binding
targetEndpointsliceName: adopt of a binding
healthCheckMode: healthCheck.mode of a pool or a binding
healthCheckPath: healthCheck.path of a pool or a binding
healthCheckHost: healthCheck.host of a pool or a binding
healthCheckPort: healthCheck.port of a pool or a binding
healthCheckExpectedStatus: healthCheck.expectedStatus of a pool or a binding
healthCheckInterval: healthCheck.interval of a pool
healthCheckTimeout: healthCheck.timeout of a pool
healthCheckRise: healthCheck.rise of a pool
healthCheckFall: healthCheck.fall of a pool
healthCheckHoldConnection: healthCheck.holdConnection of a pool
healthCheckTlsCaFile: credentials of a pool
healthCheckTlsServerName: healthCheck.tlsServerName of a pool
healthCheckTlsInsecure: healthCheck.tlsInsecure of a pool
emptyResultThreshold: guard.emptyResultThreshold of a pool
maxRemovalPercent: guard.maxRemovalPercent of a pool
drainPeriod: guard.drainPeriod of a pool
healthCheckMaxSilentPercent: guard.maxSilentPercent of a pool
healthCheckFailOpen: guard.failOpen of a pool
{{- end }}

{{/* One document without its spec: a list of kind, name and namespace. */}}
{{- define "controller.documentHead" -}}
apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: {{ index . 0 }}
metadata:
  name: {{ index . 1 | quote }}
  {{- with index . 2 }}
  namespace: {{ . | quote }}
  {{- end }}
{{- end }}

{{/* The pools of a kind of source as a JSON array of names. */}}
{{- define "controller.poolsOf" -}}
{{- $kind := index . 1 }}
{{- $names := list }}
{{- range $name, $pool := (index . 0).Values.pools }}
{{- if hasKey $pool.source $kind }}
{{- $names = append $names $name }}
{{- end }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{/* Whether a pool of some kinds may have one of some files in its credentials: a list of the root, kinds and files. A
Secret without keys may have any. */}}
{{- define "controller.mayHave" -}}
{{- $root := index . 0 }}
{{- $files := index . 2 }}
{{- range $kind := index . 1 }}
{{- range include "controller.poolsOf" (list $root $kind) | fromJsonArray }}
{{- with (get $root.Values.pools .).credentials }}
{{- $keys := (get $root.Values.credentials . | default dict).keys | default dict }}
{{- if or (not $keys) (pick $keys (index $files 0) (last $files)) }}true{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Every namespace of the cluster, or those that have labels: only a ClusterRole can give that. */}}
{{- define "controller.boundByCluster" -}}
{{- if or (has "*" .Values.bounds.namespaces) .Values.bounds.namespaceSelector }}true{{ end }}
{{- end }}

{{/* Pools that select namespaces by labels need the labels. */}}
{{- define "controller.readsLabels" -}}
{{- if or .Values.bounds.namespaceSelector (and (include "controller.hasOtherPools" .) (has "*" .Values.bounds.namespaces)) }}true
{{- else }}
{{- range .Values.pools }}
{{- range .allow }}
{{- if .namespaceSelector }}true{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The namespaces that pools and bindings name, as a JSON array. */}}
{{- define "controller.namedNamespaces" -}}
{{- $names := list }}
{{- range .Values.pools }}
{{- range .allow }}
{{- $names = concat $names (default list .namespaces) }}
{{- end }}
{{- end }}
{{- $names = concat $names (keys (default dict .Values.bindings)) }}
{{- toJson ($names | uniq | sortAlpha) }}
{{- end }}

{{/* Ports as they are allowed, numbers and ranges, as a JSON array of {"from": 31000, "to": 31999}. */}}
{{- define "controller.ranges" -}}
{{- $ranges := list }}
{{- range . }}
{{- $ends := splitList "-" (include "controller.text" .) }}
{{- $ranges = append $ranges (dict "from" (first $ends | int) "to" (last $ends | int)) }}
{{- end }}
{{- toJson ($ranges | uniq) }}
{{- end }}

{{/* The ports that a pool allows to anybody, as a JSON array of text. */}}
{{- define "controller.portsOfPool" -}}
{{- $ports := list }}
{{- range .allow }}
{{- $ports = concat $ports .ports }}
{{- end }}
{{- toJson ($ports | uniq) }}
{{- end }}

{{/* What is checked where, as a JSON array of {"ranges", "subnets"}. */}}
{{- define "controller.checks" -}}
{{- $checks := list }}
{{- if not (include "controller.byDocuments" .) }}
{{- $checks = list (dict "ports" (include "controller.checkedPorts" . | fromJsonArray) "subnets" (include "controller.subnets" . | fromJsonArray)) }}
{{- else }}
{{- /* Of each pool the ports that it allows, and the one that it checks for all. */}}
{{- range .Values.pools }}
{{- $ports := include "controller.portsOfPool" . | fromJsonArray }}
{{- with .healthCheck }}
{{- with .port }}
{{- $ports = append $ports . }}
{{- end }}
{{- end }}
{{- $checks = append $checks (dict "ports" $ports "subnets" .subnets) }}
{{- end }}
{{- if include "controller.hasOtherPools" . }}
{{- $checks = append $checks (dict "ports" .Values.bounds.ports "subnets" .Values.bounds.subnets) }}
{{- end }}
{{- end }}
{{- $rules := list }}
{{- range $check := $checks }}
{{- with include "controller.ranges" $check.ports | fromJsonArray }}
{{- $rules = append $rules (dict "ranges" . "subnets" $check.subnets) }}
{{- end }}
{{- end }}
{{- toJson $rules }}
{{- end }}
