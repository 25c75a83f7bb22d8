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
{{- if not .Values.tls.secretName }}
{{- $m = append $m "tls.secretName: required, because clients are on other machines; name a Secret of type kubernetes.io/tls" }}
{{- end }}
{{- if and $ca.secretName $ca.configMapName }}
{{- $m = append $m "tls.clientCA: names a Secret and a ConfigMap; name one of them" }}
{{- end }}
{{- $shown := include "views.namespaces" . | fromJsonArray }}
{{- $names := dict }}
{{- range .Values.clients }}
{{- if hasKey $names .name }}
{{- $m = append $m (printf "clients: %s is listed twice; write its namespaces into one entry" .name) }}
{{- end }}
{{- $_ := set $names .name true }}
{{- if not (or .tokenSecret (include "views.usesClientCA" $)) }}
{{- $m = append $m (printf "clients: %s has no tokenSecret, and there is no tls.clientCA for a certificate; set one of them" .name) }}
{{- end }}
{{- $client := .name }}
{{- range .namespaces }}
{{- if and $shown (ne . "*") (not (has . $shown)) }}
{{- $m = append $m (printf "clients: %s may see the namespace %s, which is not among those shown (%s); add it to namespaces" $client . (join ", " $shown)) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $key := list "viewsAddress" "metricsAddress" }}
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
