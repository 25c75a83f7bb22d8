{{/* What the admission policy says of a slice. */}}

{{/* The parts of the slice as it is to be, and of the one that it replaces. */}}
{{- define "controller.policyVariables" -}}
- name: labels
  expression: {{ "object.metadata.?labels.orValue({})" | quote }}
- name: labelsBefore
  expression: {{ "oldObject == null ? {} : oldObject.metadata.?labels.orValue({})" | quote }}
- name: service
  expression: "variables.labels[?'kubernetes.io/service-name'].orValue('')"
- name: manager
  expression: "variables.labels[?'endpointslice.kubernetes.io/managed-by'].orValue('')"
- name: endpoints
  # Without any, both are null.
  expression: "object.?endpoints.orValue(null) == null ? [] : object.endpoints"
- name: endpointsBefore
  expression: "oldObject == null || oldObject.?endpoints.orValue(null) == null ? [] : oldObject.endpoints"
- name: addresses
  expression: "variables.endpoints.map(e, e.addresses)"
- name: addressesBefore
  expression: "variables.endpointsBefore.map(e, e.addresses)"
- name: ports
  expression: "object.?ports.orValue(null) == null ? [] : object.ports"
- name: portsBefore
  expression: "oldObject == null || oldObject.?ports.orValue(null) == null ? [] : oldObject.ports"
- name: same
  # Whether the addresses stay as they are. To compare each with each costs nearly all that
  # one expression may for slices of 1,000, so that is asked last, and in expressions apart.
  expression: "oldObject != null && variables.addresses == variables.addressesBefore"
- name: fewer
  expression: "variables.same || oldObject != null && sets.contains(variables.addressesBefore, variables.addresses)"
- name: addsNone
  # Whether a slice keeps its Service and gets neither an address nor a port. That is
  # allowed whatever the values say: until the Pods of an upgrade are ready, the leader of
  # before works, and a dead endpoint must not stay ready in its slices.
  expression: >-
    oldObject != null && variables.labelsBefore[?'kubernetes.io/service-name'].orValue(variables.service) == variables.service &&
    variables.ports.all(p, variables.portsBefore.exists(b, b.?port.orValue(0) == p.?port.orValue(0))) &&
    variables.fewer
- name: takesDown
  # The same for a slice of another manager: the leader of before may have that name, unless
  # it is one of Kubernetes' own, and what it needs is to change endpoints.
  expression: >-
    variables.addsNone && variables.labelsBefore[?'endpointslice.kubernetes.io/managed-by'].orValue('') == variables.manager &&
    !(variables.manager in ['', 'controller', 'endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']) &&
    variables.endpoints != variables.endpointsBefore
{{- end }}

{{/* The new addresses outside of the subnets: a list for each endpoint. */}}
{{- define "controller.policyOutside" -}}
- name: outside
  expression: >-
    variables.same ? [] : variables.addresses.filter(all, !all.all(a, isIP(a) && variables.subnets.exists(s, cidr(s).containsIP(ip(a)))))
{{- end }}

{{/* What both policies say: a list of the root and the manager of a slice that has lost the label. */}}
{{- define "controller.policyOfBoth" -}}
{{- $ours := include "controller.managedBy" (index . 0) }}
- expression: {{ printf "variables.manager == %s || variables.takesDown" (toJson $ours) | quote }}
  message: the label endpointslice.kubernetes.io/managed-by must be {{ $ours }}
- expression: {{ printf "oldObject == null || variables.labelsBefore[?'endpointslice.kubernetes.io/managed-by'].orValue(%s) == %s || variables.takesDown" (index . 1 | toJson) (toJson $ours) | quote }}
  message: the slice is managed by another
- expression: object.addressType in ['IPv4', 'IPv6']
  message: addressType must be IPv4 or IPv6
{{- end }}

{{/* Of the one Service of variables. What the values say holds for new slices and for what is added. */}}
{{- define "controller.policyOfVariables" -}}
{{- $c := .Values.controller }}
{{- $ports := list }}
{{- range include "controller.ports" . | fromJsonArray }}
{{- $ports = append $ports (int .port) }}
{{- end }}
variables:
  - name: subnets
    expression: {{ include "controller.subnets" . | quote }}
  {{- include "controller.policyVariables" . | nindent 2 }}
  {{- include "controller.policyOutside" . | nindent 2 }}
validations:
  - expression: {{ printf "request.namespace == %s || variables.addsNone" (include "controller.targetNamespace" . | toJson) | quote }}
    message: slices are written in the namespace {{ include "controller.targetNamespace" . }} only
  - expression: {{ printf "object.metadata.name in %s || oldObject != null" (include "controller.sliceNames" .) | quote }}
    messageExpression: {{ printf "'not the name of a slice of %s: ' + object.metadata.name" $c.targetServiceName | quote }}
  - expression: {{ printf "variables.service == %s && variables.labelsBefore[?'kubernetes.io/service-name'].orValue(%[1]s) == %[1]s || variables.addsNone" ($c.targetServiceName | toJson) | quote }}
    message: the label kubernetes.io/service-name must be {{ $c.targetServiceName }}, and stay
  # The daemon repairs a slice that lost the label; it may not touch one with another label.
  {{- include "controller.policyOfBoth" (list . (include "controller.managedBy" .)) | trim | nindent 2 }}
  - expression: >-
      variables.outside.size() == 0 || sets.contains(variables.addressesBefore, variables.outside)
    message: every new address must be inside {{ include "controller.subnets" . | fromJsonArray | join ", " }}
  - expression: >-
      variables.ports.all(p, p.?port.orValue(0) in {{ toJson $ports }} ||
      variables.portsBefore.exists(b, b.?port.orValue(0) == p.?port.orValue(0)))
    message: every port must be one of {{ join ", " $ports }}, or in the slice already
{{- end }}

{{/* Of the Services that documents fill. Each pool has its own subnets and ports, by the label of the slice. What is in
a slice already may stay: a pool that was narrowed or removed must not keep a dead endpoint in it. */}}
{{- define "controller.policyOfDocuments" -}}
{{- $subnets := toJson .Values.bounds.subnets }}
{{- $ranges := include "controller.rangesAsLists" .Values.bounds.ports }}
{{- if .Values.pools }}
{{- $ofPools := dict }}
{{- $pairs := list }}
{{- range $name, $pool := .Values.pools }}
{{- $_ := set $ofPools $name $pool.subnets }}
{{- $pairs = append $pairs (printf "%s: %s" (toJson $name) (include "controller.rangesAsLists" (include "controller.portsOfPool" $pool | fromJsonArray))) }}
{{- end }}
{{- $other := ternary (list $subnets $ranges) (list "[]" "[]") (eq (include "controller.byAPI" .) "true") }}
{{- $subnets = printf "%s[?variables.pool].orValue(%s)" (toJson $ofPools) (first $other) }}
{{- $ranges = printf "{%s}[?variables.pool].orValue(%s)" (join ", " $pairs) (last $other) }}
{{- end }}
{{- /* Documents that the values lack may adopt slices of any name without a dot: with one it may be that of another Service. */}}
{{- $names := list }}
{{- range .Values.bindings }}
{{- range . }}
{{- with .adopt }}
{{- $names = append $names . }}
{{- end }}
{{- end }}
{{- end }}
variables:
  {{- include "controller.policyVariables" . | nindent 2 }}
  - name: pool
    expression: "variables.labels[?'endpoints.ablmnzde.github.io/pool'].orValue('')"
  - name: subnets
    expression: {{ $subnets | quote }}
  - name: ranges
    expression: {{ $ranges | quote }}
  {{- include "controller.policyOutside" . | nindent 2 }}
validations:
  - expression: {{ printf "%s || variables.addsNone" (include "controller.boundExpression" .) | quote }}
    messageExpression: "'bounds.namespaces and bounds.namespaceSelector of the chart do not have the namespace ' + request.namespace"
  - expression: "variables.service != '' && (oldObject == null || variables.labelsBefore[?'kubernetes.io/service-name'].orValue(variables.service) == variables.service)"
    message: the label kubernetes.io/service-name must name the Service, and stay
  - expression: {{ printf "oldObject != null || variables.pool != '' && (%s && !object.metadata.name.contains('.') || [variables.service + '.', variables.service + '-'].exists(p, object.metadata.name.startsWith(p)) || %s.exists(n, object.metadata.name == n || object.metadata.name.startsWith(n + '-')))" (include "controller.hasOtherPools" . | default "false") (toJson $names) | quote }}
    messageExpression: "'not the name and the label endpoints.ablmnzde.github.io/pool of a slice of ' + variables.service + ': ' + object.metadata.name"
  {{- include "controller.policyOfBoth" (list . "") | trim | nindent 2 }}
  - expression: >-
      variables.outside.size() == 0 || sets.contains(variables.addressesBefore, variables.outside)
    messageExpression: "'every new address must be inside the subnets of the pool ' + variables.pool + ': ' + variables.subnets.join(', ')"
  - expression: >-
      variables.ports.all(p, variables.ranges.exists(r, p.?port.orValue(0) >= r[0] && p.?port.orValue(0) <= r[1]) ||
      variables.portsBefore.exists(b, b.?port.orValue(0) == p.?port.orValue(0)))
    messageExpression: "'every new port must be one that the pool ' + variables.pool + ' allows'"
{{- end }}

{{/* Ports as a list of CEL: [[30080, 30080], [31000, 31999]]. */}}
{{- define "controller.rangesAsLists" -}}
{{- $lists := list }}
{{- range include "controller.ranges" . | fromJsonArray }}
{{- $lists = append $lists (list (int .from) (int .to)) }}
{{- end }}
{{- toJson $lists }}
{{- end }}

{{/* Whether the namespace is within the bounds, as CEL. */}}
{{- define "controller.boundExpression" -}}
{{- $any := list }}
{{- if has "*" .Values.bounds.namespaces }}
{{- $any = list "true" }}
{{- else if .Values.bounds.namespaces }}
{{- $any = list (printf "request.namespace in %s" (toJson .Values.bounds.namespaces)) }}
{{- end }}
{{- with .Values.bounds.namespaceSelector }}
{{- $any = append $any (include "controller.selectorExpression" .) }}
{{- end }}
{{- printf "(%s)" (join " || " $any) }}
{{- end }}

{{/* A label selector as an expression of CEL over the labels of the namespace. */}}
{{- define "controller.selectorExpression" -}}
{{- $all := list }}
{{- $labels := "namespaceObject.metadata.?labels.orValue({})" }}
{{- range $key, $value := .matchLabels }}
{{- $all = append $all (printf "(%s in %s && %s[%s] == %s)" (toJson $key) $labels $labels (toJson $key) (toJson $value)) }}
{{- end }}
{{- range .matchExpressions }}
{{- $has := printf "(%s in %s)" (toJson .key) $labels }}
{{- $in := printf "(%s && %s[%s] in %s)" $has $labels (toJson .key) (toJson (default list .values)) }}
{{- $all = append $all (get (dict "Exists" $has "DoesNotExist" (print "!" $has) "In" $in "NotIn" (print "!" $in)) .operator) }}
{{- end }}
{{- printf "(%s)" (join " && " $all) }}
{{- end }}
