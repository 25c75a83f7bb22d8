{{/* The mistakes about the operator of fleets, as a JSON list. */}}
{{- define "views.validateFleet" -}}
{{- $m := list }}
{{- $fleet := .Values.fleet }}
{{- if $fleet.enabled }}
{{- if not .Values.xds.enabled }}
{{- $m = append $m "fleet.enabled: needs xDS, by which the Envoys follow; set xds.enabled=true" }}
{{- end }}
{{- $digest := "name an image of Envoy by its digest, REPOSITORY@sha256:...; docs/how-to/fleets.md says how to get one" }}
{{- if not $fleet.envoyImage }}
{{- $m = append $m (printf "fleet.envoyImage: required; %s" $digest) }}
{{- else if not (regexMatch "^[^@\\s]+@sha256:[0-9a-f]{64}$" $fleet.envoyImage) }}
{{- $m = append $m (printf "fleet.envoyImage: %s is no image by its digest, and a tag may be another image tomorrow; %s" $fleet.envoyImage $digest) }}
{{- end }}
{{- if and (ne .Values.certificates.by "job") (not $fleet.secretName) }}
{{- $m = append $m "fleet.secretName: required; name a Secret with the operator's token, key token, and the authority of the server, key ca.crt, or set certificates.by=job" }}
{{- end }}
{{- if and (has "*" $fleet.namespaces) (gt (len $fleet.namespaces) 1) }}
{{- $m = append $m "fleet.namespaces: \"*\" is every namespace; write it alone, or write names only" }}
{{- end }}
{{- $shown := include "views.namespaces" . | fromJsonArray }}
{{- range $fleet.namespaces }}
{{- if and $shown (not (has . $shown)) }}
{{- $m = append $m (printf "fleet.namespaces: %s is not among the namespaces that are shown (%s), so its Envoys would have no endpoints; add it to namespaces" . (join ", " $shown)) }}
{{- end }}
{{- end }}
{{- if not (or $fleet.serviceAccount.create $fleet.serviceAccount.name) }}
{{- $m = append $m "fleet.serviceAccount.name: needed with fleet.serviceAccount.create=false" }}
{{- end }}
{{- else }}
{{- range $key := list "envoyImage" "namespaces" "secretName" "extraEnv" }}
{{- if get $fleet $key }}
{{- $m = append $m (printf "fleet.%s: has no effect without the operator; set fleet.enabled=true" $key) }}
{{- end }}
{{- end }}
{{- if .Values.metrics.podMonitor.enabled }}
{{- $m = append $m "metrics.podMonitor.enabled: has no effect without the operator; set fleet.enabled=true" }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}

{{/* The mistakes about who makes certificates, as a JSON list. */}}
{{- define "views.validateCertificates" -}}
{{- $m := list }}
{{- $of := .Values.certificates }}
{{- if $of.by }}
{{- if or .Values.tls.secretName .Values.tls.clientCA.secretName .Values.tls.clientCA.configMapName }}
{{- $m = append $m (printf "certificates.by: %s makes the certificate of the server and the authority of its clients; leave tls.secretName and tls.clientCA empty" $of.by) }}
{{- end }}
{{- if and (eq $of.by "job") .Values.fleet.secretName }}
{{- $m = append $m "fleet.secretName: certificates.by=job makes it; leave it empty" }}
{{- end }}
{{- if and $of.fleets (not .Values.xds.enabled) }}
{{- $m = append $m "certificates.fleets: has no effect without xDS; set xds.enabled=true" }}
{{- end }}
{{- else if $of.fleets }}
{{- $m = append $m "certificates.fleets: has no effect without certificates.by; set it to job or cert-manager" }}
{{- end }}
{{- if ne (eq $of.by "cert-manager") (not (empty $of.issuerRef)) }}
{{- $m = append $m "certificates.issuerRef: needed with certificates.by=cert-manager, and only then" }}
{{- end }}
{{- $names := dict }}
{{- $secrets := dict }}
{{- range include "views.certifiedFleets" . | fromJsonArray }}
{{- $name := printf "%s/%s" .namespace .name }}
{{- $secret := printf "%s/%s" .namespace .secret }}
{{- if or (hasKey $names $name) (hasKey $secrets $secret) }}
{{- $m = append $m (printf "certificates.fleets: %s is listed twice, or its Secret %s is; give each fleet one entry and one Secret" $name .secret) }}
{{- end }}
{{- $_ := set $names $name true }}
{{- $_ := set $secrets $secret true }}
{{- if and (eq .namespace $.Release.Namespace) (has .secret (list (include "views.tlsSecret" $) (include "views.authoritySecret" $) (include "views.fleetName" $))) }}
{{- $m = append $m (printf "certificates.fleets: the Secret %s of %s is one of the release; choose another secretName" .secret $name) }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}
