{{/* What the admission policies say of pools and bindings. */}}

{{/* The bounds as variables of a policy. */}}
{{- define "controller.boundVariables" -}}
- name: ranges
  expression: {{ include "controller.rangesAsLists" .Values.bounds.ports | quote }}
{{- end }}

{{- define "controller.policyOf_endpointpools" -}}
{{- $names := .Values.bounds.namespaces }}
variables:
  {{- include "controller.boundVariables" . | nindent 2 }}
  - name: subnets
    expression: {{ toJson .Values.bounds.subnets | quote }}
  - name: allow
    expression: "object.spec.?allow.orValue([])"
  - name: allowedBefore
    expression: "oldObject == null ? [] : oldObject.spec.?allow.orValue([])"
validations:
  - expression: >-
      object.spec.subnets.all(s, !isCIDR(s) || variables.subnets.exists(b, cidr(b).containsCIDR(s)) ||
      oldObject != null && s in oldObject.spec.subnets)
    messageExpression: "'spec.subnets: every new subnet must be inside bounds.subnets of the chart: ' + variables.subnets.join(', ')"
  - expression: >-
      variables.allow.all(a, a.ports.all(p, !p.matches('^[0-9]+(-[0-9]+)?$') ||
      variables.ranges.exists(r, int(p.split('-')[0]) >= r[0] && int(p.split('-')[p.split('-').size() - 1]) <= r[1]) ||
      variables.allowedBefore.exists(b, p in b.ports)))
    message: {{ printf "spec.allow: every new port must be among bounds.ports of the chart: %s" (include "controller.text" .Values.bounds.ports) | quote }}
  {{- if not (include "controller.boundByCluster" .) }}
  - expression: "variables.allow.all(a, !has(a.namespaceSelector) || variables.allowedBefore.exists(b, has(b.namespaceSelector)))"
    message: "spec.allow: a namespaceSelector may select namespaces outside of bounds.namespaces of the chart: name the namespaces"
  - expression: >-
      variables.allow.all(a, !has(a.namespaces) || a.namespaces.all(n, n in {{ toJson $names }} ||
      variables.allowedBefore.exists(b, has(b.namespaces) && n in b.namespaces)))
    message: {{ printf "spec.allow: every new namespace must be one of bounds.namespaces of the chart: %s" (join ", " $names) | quote }}
  {{- end }}
{{- end }}

{{- define "controller.policyOf_endpointbindings" -}}
variables:
  {{- include "controller.boundVariables" . | nindent 2 }}
  - name: ports
    expression: "object.spec.?ports.orValue([])"
  - name: portsBefore
    expression: "oldObject == null ? [] : oldObject.spec.?ports.orValue([])"
validations:
  - expression: {{ printf "oldObject != null || %s" (include "controller.boundExpression" .) | quote }}
    messageExpression: "'bounds.namespaces and bounds.namespaceSelector of the chart do not have the namespace ' + request.namespace"
  - expression: >-
      variables.ports.all(p, variables.ranges.exists(r, p.port >= r[0] && p.port <= r[1]) ||
      variables.portsBefore.exists(b, b.port == p.port))
    message: {{ printf "spec.ports: every new port must be among bounds.ports of the chart: %s" (include "controller.text" .Values.bounds.ports) | quote }}
{{- end }}
