{{/* What the admission policy says of a slice. */}}

{{/* The parts of the slice as it is to be, and of the one that it replaces. */}}
{{- define "controller.policyVariables" -}}
- name: labels
  expression: {{ "object.metadata.?labels.orValue({})" | quote }}
- name: endpoints
  # Without any, both are null.
  expression: "object.?endpoints.orValue(null) == null ? [] : object.endpoints"
- name: before
  expression: "oldObject == null || oldObject.?endpoints.orValue(null) == null ? [] : oldObject.endpoints"
- name: ports
  expression: "object.?ports.orValue(null) == null ? [] : object.ports"
- name: same
  # Whether the addresses stay as they are. To compare each with each costs too much for
  # slices of 1,000, so that is asked last.
  expression: "oldObject != null && variables.endpoints.map(e, e.addresses) == variables.before.map(e, e.addresses)"
{{- end }}

{{/* Of the one Service of variables. */}}
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
validations:
  - expression: request.namespace == {{ include "controller.targetNamespace" . | toJson }}
    message: slices are written in the namespace {{ include "controller.targetNamespace" . }} only
  - expression: {{ printf "object.metadata.name in %s" (include "controller.sliceNames" .) | quote }}
    messageExpression: {{ printf "'not the name of a slice of %s: ' + object.metadata.name" $c.targetServiceName | quote }}
  - expression: {{ printf "variables.labels[?'kubernetes.io/service-name'].orValue('') == %s" ($c.targetServiceName | toJson) | quote }}
    message: the label kubernetes.io/service-name must be {{ $c.targetServiceName }}
  - expression: {{ printf "variables.labels[?'endpointslice.kubernetes.io/managed-by'].orValue('') == %s" (include "controller.managedBy" . | toJson) | quote }}
    message: the label endpointslice.kubernetes.io/managed-by must be {{ include "controller.managedBy" . }}
  # The daemon repairs a slice that lost the label; it may not touch one with another label.
  - expression: {{ printf "oldObject == null || oldObject.metadata.?labels.orValue({})[?'endpointslice.kubernetes.io/managed-by'].orValue(%s) == %s" (include "controller.managedBy" . | toJson) (include "controller.managedBy" . | toJson) | quote }}
    message: the slice is managed by another
  - expression: object.addressType in ['IPv4', 'IPv6']
    message: addressType must be IPv4 or IPv6
  # Addresses that are in the slice already may stay. Otherwise, after the subnets were
  # narrowed, no write of this slice would be allowed, and a dead endpoint would stay ready.
  - expression: >-
      variables.same || variables.endpoints.all(e, e.addresses.all(a, isIP(a) &&
      (variables.subnets.exists(s, cidr(s).containsIP(ip(a))) || variables.before.exists(b, a in b.addresses))))
    message: every new address must be inside {{ include "controller.subnets" . | fromJsonArray | join ", " }}
  - expression: {{ printf "variables.ports.all(p, p.?port.orValue(0) in %s)" (toJson $ports) | quote }}
    message: every port must be one of {{ join ", " $ports }}
{{- end }}

{{/* Of the Services that documents fill. Each pool has its own subnets and ports, by the label of the slice. What is in
a slice already may stay: a pool that was narrowed or removed must not keep a dead endpoint in it. */}}
{{- define "controller.policyOfDocuments" -}}
{{- $ours := include "controller.managedBy" . | toJson }}
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
  - name: portsBefore
    expression: "oldObject == null || oldObject.?ports.orValue(null) == null ? [] : oldObject.ports"
  - name: labelsBefore
    expression: "oldObject == null ? {} : oldObject.metadata.?labels.orValue({})"
  - name: service
    expression: "variables.labels[?'kubernetes.io/service-name'].orValue('')"
  - name: pool
    expression: "variables.labels[?'endpoints.ablmnzde.github.io/pool'].orValue('')"
  - name: subnets
    expression: {{ $subnets | quote }}
  - name: ranges
    expression: {{ $ranges | quote }}
  # Whether no address is added.
  - name: addsNone
    expression: "variables.same || oldObject != null && variables.endpoints.all(e, e.addresses.all(a, variables.before.exists(b, a in b.addresses)))"
validations:
  - expression: {{ printf "%s || variables.addsNone" (include "controller.boundExpression" .) | quote }}
    messageExpression: "'bounds.namespaces and bounds.namespaceSelector of the chart do not have the namespace ' + request.namespace"
  - expression: "variables.service != '' && (oldObject == null || variables.labelsBefore[?'kubernetes.io/service-name'].orValue(variables.service) == variables.service)"
    message: the label kubernetes.io/service-name must name the Service, and stay
  - expression: {{ printf "oldObject != null || variables.pool != '' && ([variables.service + '.', variables.service + '-'].exists(p, object.metadata.name.startsWith(p)) || %s.exists(n, object.metadata.name == n || object.metadata.name.startsWith(n + '-')))" (toJson $names) | quote }}
    messageExpression: "'not the name and the label endpoints.ablmnzde.github.io/pool of a slice of ' + variables.service + ': ' + object.metadata.name"
  - expression: {{ printf "variables.labels[?'endpointslice.kubernetes.io/managed-by'].orValue('') == %s" $ours | quote }}
    message: the label endpointslice.kubernetes.io/managed-by must be {{ include "controller.managedBy" . }}
  - expression: {{ printf "oldObject == null || variables.labelsBefore[?'endpointslice.kubernetes.io/managed-by'].orValue('') == %s" $ours | quote }}
    message: the slice is managed by another
  - expression: object.addressType in ['IPv4', 'IPv6']
    message: addressType must be IPv4 or IPv6
  - expression: >-
      variables.same || variables.endpoints.all(e, e.addresses.all(a, isIP(a) &&
      (variables.subnets.exists(s, cidr(s).containsIP(ip(a))) || variables.before.exists(b, a in b.addresses))))
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
