{{/* What the schema cannot see, because one value depends on another. All of it is reported at once. */}}
{{- define "views.validate" -}}
{{- $ca := .Values.tls.clientCA }}
{{- $m := list }}
{{- if and (eq .Chart.AppVersion "unreleased") (not (or .Values.image.tag .Values.image.digest)) }}
{{- $m = append $m "image.tag: this chart is not a released one, so name the image that you built (or image.digest)" }}
{{- end }}
{{- if and (has "*" .Values.namespaces) (gt (len .Values.namespaces) 1) }}
{{- $m = append $m "namespaces: \"*\" is every namespace; write it alone, or write names only" }}
{{- end }}
{{- if not (or .Values.tls.secretName .Values.certificates.by) }}
{{- $m = append $m "tls.secretName: required, because clients are on other machines; name a Secret of type kubernetes.io/tls, or let certificates.by make it" }}
{{- end }}
{{- if and $ca.secretName $ca.configMapName }}
{{- $m = append $m "tls.clientCA: names a Secret and a ConfigMap; name one of them" }}
{{- end }}
{{- $shown := include "views.namespaces" . | fromJsonArray }}
{{- $names := dict }}
{{- $tokens := dict }}
{{- range include "views.clients" . | fromJsonArray }}
{{- if hasKey $names .name }}
{{- $m = append $m (printf "clients: %s is listed twice; write its namespaces into one entry" .name) }}
{{- end }}
{{- $_ := set $names .name true }}
{{- if not (or .tokenSecret (include "views.usesClientCA" $)) }}
{{- $m = append $m (printf "clients: %s has no tokenSecret, and there is no tls.clientCA for a certificate; set one of them" .name) }}
{{- end }}
{{- with .tokenSecret }}
{{- $token := printf "%s, key %s" .name (.key | default "token") }}
{{- if hasKey $tokens $token }}
{{- $m = append $m (printf "clients: two have the token of the Secret %s; give each its own" $token) }}
{{- end }}
{{- $_ := set $tokens $token true }}
{{- end }}
{{- $client := .name }}
{{- range .namespaces }}
{{- if and $shown (ne . "*") (not (has . $shown)) }}
{{- $m = append $m (printf "clients: %s may see the namespace %s, which is not among those shown (%s); add it to namespaces" $client . (join ", " $shown)) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $of := list "views.validateForms" "views.validateXDS" "views.validateFleet" "views.validateCertificates" }}
{{- $m = concat $m (include $of $ | fromJsonArray) }}
{{- end }}
{{- range $key := list "viewsAddress" "metricsAddress" "xdsAddress" }}
{{- if regexMatch "^(127\\.|\\[::1\\])" (get $.Values.views $key) }}
{{- $m = append $m (printf "views.%s: a loopback address cannot be reached from outside of the Pod; write 0.0.0.0 or [::]" $key) }}
{{- end }}
{{- end }}
{{- if eq (include "views.port" .) (include "views.metricsPort" .) }}
{{- $m = append $m "views.metricsAddress: has the port of views.viewsAddress; give it another one" }}
{{- end }}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- $m = append $m "serviceAccount.name: needed with serviceAccount.create=false" }}
{{- end }}
{{- if $m }}
{{- fail (printf "\n\n%d %s in the values:\n  - %s\n" (len $m) (ternary "mistake" "mistakes" (eq (len $m) 1)) (join "\n  - " $m)) }}
{{- end }}
{{- end }}

{{/* The mistakes about xDS, as a JSON list. */}}
{{- define "views.validateXDS" -}}
{{- $m := list }}
{{- if .Values.xds.enabled }}
{{- if not (include "views.usesClientCA" .) }}
{{- $m = append $m "xds.enabled: needs an authority of client certificates, because a certificate says which client asks; set tls.clientCA.secretName or tls.clientCA.configMapName" }}
{{- end }}
{{- if has (include "views.xdsPort" .) (list (include "views.port" .) (include "views.metricsPort" .)) }}
{{- $m = append $m "views.xdsAddress: has the port of views.viewsAddress or of views.metricsAddress; give it another one" }}
{{- end }}
{{- if eq (int .Values.service.port) (int .Values.service.xdsPort) }}
{{- $m = append $m "service.xdsPort: is service.port too; give it another one" }}
{{- end }}
{{- else }}
{{- if .Values.xds.fleets }}
{{- $m = append $m "xds.fleets: has no effect without xDS; set xds.enabled=true" }}
{{- end }}
{{- if .Values.xds.watchFleets }}
{{- $m = append $m "xds.watchFleets: has no effect without xDS; set xds.enabled=true" }}
{{- end }}
{{- if .Values.networkPolicy.xdsFrom }}
{{- $m = append $m "networkPolicy.xdsFrom: has no effect without xDS; set xds.enabled=true" }}
{{- end }}
{{- range $key, $value := omit .Values.views "xdsAddress" }}
{{- if and (hasPrefix "xds" $key) (not (kindIs "invalid" $value)) (ne (toString $value) "") }}
{{- $m = append $m (printf "views.%s: has no effect without xDS; set xds.enabled=true" $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- $fleets := dict }}
{{- range .Values.xds.fleets }}
{{- $fleet := .name }}
{{- if hasKey $fleets $fleet }}
{{- $m = append $m (printf "xds.fleets: %s is listed twice; write its listeners into one entry" $fleet) }}
{{- end }}
{{- $_ := set $fleets $fleet true }}
{{- $ports := dict }}
{{- range .listeners }}
{{- if hasKey $ports (toString .port) }}
{{- $m = append $m (printf "xds.fleets: %s has two listeners of port %d; give each a port of its own" $fleet (int .port)) }}
{{- end }}
{{- $_ := set $ports (toString .port) true }}
{{- $port := int .port }}
{{- range include "views.wrongListener" . | fromJsonArray }}
{{- $m = append $m (printf "xds.fleets: the listener of %s with port %d %s" $fleet $port .) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}
