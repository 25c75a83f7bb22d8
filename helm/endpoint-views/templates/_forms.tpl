{{/* What the program refuses of one value, so that Helm refuses it first. Numbers may be text. */}}

{{/* The least and the most of a variable, as docs/reference/endpoint-views-configuration.md has them. */}}
{{- define "views.limits" -}}
viewsMaxClients: [1, 10000]
viewsMaxClientsPerIdentity: [1, 10000]
xdsMaxClients: [1, 10000]
xdsMaxClientsPerIdentity: [1, 10000]
xdsRetries: [0, 20]
xdsRetryBufferBytes: [16384, 67108864]
xdsTryTimeout: [0s, 1h]
xdsRequestTimeout: [0s, 24h]
xdsStreamIdleTimeout: [1s, 24h]
xdsConnectTimeout: [10ms, 1m]
xdsUpstreamIdleTimeout: [100ms, 1h]
xdsEjectAfter: [0, 100]
xdsEjectionTime: [100ms, 1h]
xdsMaxEjectionPercent: [0, 100]
xdsPanicPercent: [1, 100]
xdsMaxRequests: [1, 1000000000]
{{- end }}

{{- define "views.ipv4" -}}
((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])
{{- end }}

{{- define "views.ipv6" -}}
(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:(:[0-9a-fA-F]{1,4}){1,6}|:(:[0-9a-fA-F]{1,4}){1,7}|::)
{{- end }}

{{/* The forms of texts: a pattern, and what is wrong with a text that does not match. */}}
{{- define "views.forms" -}}
{{- $name := "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*" }}
{{- $port := "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})" }}
{{- $address := list (printf "(%s|\\[%s\\]):%s" (include "views.ipv4" .) (include "views.ipv6" .) $port) "is not an IP address with a port from 1 to 65535; the Service and the probes need a port that they know, so write for example 0.0.0.0:8443" }}
{{- dict
  "viewsAddress" $address
  "metricsAddress" $address
  "xdsAddress" $address
  "viewsAnnotation" (list (printf "(%s/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?" $name) "is no name of an annotation; write for example endpoints.ablmnzde.github.io/views")
  "viewsTrustDomain" (list $name "is not a DNS name; write a-z, 0-9, - and ., for example cluster.local")
| toJson }}
{{- end }}

{{/* A duration as milliseconds. */}}
{{- define "views.milliseconds" -}}
{{- $sum := 0.0 }}
{{- $units := dict "ns" 0.000001 "us" 0.001 "µs" 0.001 "ms" 1.0 "s" 1000.0 "m" 60000.0 "h" 3600000.0 }}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h)" . -1 }}
{{- $sum = addf $sum (mulf (float64 (regexFind "^[0-9.]+" .)) (get $units (regexReplaceAll "^[0-9.]+" . ""))) }}
{{- end }}
{{- $sum }}
{{- end }}

{{/* The same of a number, which is compared as it is. */}}
{{- define "views.amount" -}}
{{- $text := include "views.text" . }}
{{- if regexMatch "^[0-9]+$" $text }}{{ $text }}{{ else }}{{ include "views.milliseconds" $text }}{{ end }}
{{- end }}

{{/* The mistakes in single variables, as a JSON list. */}}
{{- define "views.validateForms" -}}
{{- $m := list }}
{{- $forms := include "views.forms" . | fromJson }}
{{- $limits := include "views.limits" . | fromYaml }}
{{- range $key, $value := .Values.views }}
{{- $text := ternary "" (include "views.text" $value) (kindIs "invalid" $value) }}
{{- if $text }}
{{- with get $limits $key }}
{{- $is := float64 (include "views.amount" $text) }}
{{- if or (lt $is (float64 (include "views.amount" (first .)))) (gt $is (float64 (include "views.amount" (last .)))) }}
{{- $m = append $m (printf "views.%s: %s is outside %s to %s; write a value within" $key $text (include "views.text" (first .)) (include "views.text" (last .))) }}
{{- end }}
{{- if and (kindIs "string" (first .)) (not (regexMatch "^([0-9]+(\\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$" $text)) }}
{{- $m = append $m (printf "views.%s: %s is not a duration; write a number with a unit, such as 500ms, 30s or 2m" $key $text) }}
{{- end }}
{{- end }}
{{- with get $forms $key }}
{{- if not (regexMatch (printf "^(%s)$" (first .)) $text) }}
{{- $m = append $m (printf "views.%s: %s" $key (last .)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}

{{/* What is wrong with a listener of a fleet, as a JSON list: what the program says of it. */}}
{{- define "views.wrongListener" -}}
{{- $m := list }}
{{- $leads := or .routes .httpsRedirectPort }}
{{- if not (or .service $leads) }}
{{- $m = append $m "leads nowhere; write service, routes or httpsRedirectPort" }}
{{- end }}
{{- if and .service $leads }}
{{- $m = append $m "has a service and something beside it; write either service, or routes and httpsRedirectPort" }}
{{- end }}
{{- if and .servicePort (not .service) }}
{{- $m = append $m "has a servicePort and no service; write service, or remove servicePort" }}
{{- end }}
{{- if and (eq (default "" .protocol) "TCP") (or $leads (hasKey . "trustedHops")) }}
{{- $m = append $m "is of protocol TCP, which has no routes, httpsRedirectPort and trustedHops; remove them, or write protocol HTTP" }}
{{- end }}
{{- if and .httpsRedirectPort .tls }}
{{- $m = append $m "has tls, so it is HTTPS already; remove httpsRedirectPort" }}
{{- end }}
{{- if and .address (not (regexMatch (printf "^(%s|%s)$" (include "views.ipv4" .) (include "views.ipv6" .)) .address)) }}
{{- $m = append $m (printf "has address %s; write an IP address of the proxy, or nothing for all of IPv4" .address) }}
{{- end }}
{{- $used := dict }}
{{- range .routes }}
{{- $route := . }}
{{- range $key := list "idleTimeout" "requestTimeout" }}
{{- with get $route $key }}
{{- if or (not (regexMatch "^(0|([0-9]+(\\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$" .)) (gt (float64 (include "views.amount" .)) 86400000.0) }}
{{- $m = append $m (printf "has a route with %s %s; write 0s to 24h, where 0s is no bound" $key .) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $host := .hosts | default (list "") }}
{{- $at := printf "%s %s" $host (regexReplaceAll "/+$" (default "" $route.pathPrefix) "") }}
{{- if hasKey $used $at }}
{{- $m = append $m (printf "has two routes for host %q and path %q; remove one of the two" $host (default "/" $route.pathPrefix)) }}
{{- end }}
{{- $_ := set $used $at true }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}
