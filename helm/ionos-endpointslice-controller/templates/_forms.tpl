{{/* What the program refuses of one value, so that Helm refuses it first. Numbers may be text, and lists too. */}}

{{/* The least and the most of a variable, as docs/reference/configuration.md has them. */}}
{{- define "controller.limits" -}}
ionosPrivateLanId: [1, 2147483647]
targetPort: [1, 65535]
sourcePollInterval: [100ms, 24h]
sourceTimeout: [100ms, 1h]
maxEndpointsPerSlice: [1, 1000]
healthCheckPort: [1, 65535]
healthCheckInterval: [100ms, 1h]
healthCheckTimeout: [10ms, 1h]
healthCheckRise: [1, 1000]
healthCheckFall: [1, 1000]
healthCheckConcurrency: [1, 65535]
emptyResultThreshold: [0, 1000000]
maxRemovalPercent: [0, 100]
drainPeriod: [0s, 24h]
healthCheckMaxSilentPercent: [0, 100]
{{- end }}

{{- define "controller.ipv4" -}}
((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])
{{- end }}

{{- define "controller.ipv6" -}}
(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:(:[0-9a-fA-F]{1,4}){1,6}|:(:[0-9a-fA-F]{1,4}){1,7}|::)
{{- end }}

{{/* The forms of texts: a pattern, and what is wrong with a text that does not match. */}}
{{- define "controller.forms" -}}
{{- $label := "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?" }}
{{- $name := "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*" }}
{{- $host := printf "(?i:%s)|%s" $name (include "controller.ipv6" .) }}
{{- $status := "[1-5][0-9][0-9]" }}
{{- $port := "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})" }}
{{- $address := printf "(%s|\\[%s\\])" (include "controller.ipv4" .) (include "controller.ipv6" .) }}
{{- $key := "([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?" }}
{{- $word := "([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?" }}
{{- $requirement := printf "\\s*(!?\\s*%s|%s\\s*(=|==|!=)\\s*%s|%s\\s+(in|notin)\\s*\\(\\s*%s\\s*(,\\s*%s\\s*)*\\)|%s\\s*[<>]\\s*[0-9]+)\\s*" $key $key $word $key $word $word $key }}
{{- $item := "([A-Za-z_][A-Za-z0-9_]*)" }}
{{- $target := printf "\\s*%s\\s*=\\s*%s\\s*(/\\s*(?i:TCP|UDP|SCTP)\\s*)?" $label $port }}
{{- $node := printf "\\s*[^\\s=,]+\\s*=\\s*(%s|%s)\\s*" (include "controller.ipv4" .) (include "controller.ipv6" .) }}
{{- dict
  "targetNamespace" (list $label "is not a DNS label; write at most 63 of a-z, 0-9 and -, for example web")
  "targetServiceName" (list $label "is not a DNS label; write at most 63 of a-z, 0-9 and -, for example web")
  "leaderElectionNamespace" (list $label "is not a DNS label; write at most 63 of a-z, 0-9 and -, for example web")
  "targetEndpointsliceName" (list $name "is not a DNS name; write a-z, 0-9, - and ., for example web")
  "leaderElectionName" (list $name "is not a DNS name; write a-z, 0-9, - and ., for example web")
  "targetManagedBy" (list "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?" "is not a label value; write at most 63 of letters, digits, -, _ and .")
  "securedNodeSelector" (list (printf "%s(,%s)*" $requirement $requirement) "is not a label selector; write for example pool=web,tier!=edge")
  "remoteService" (list (printf "%s/%s" $label $label) "is not namespace/name of a Service; write for example shop/web")
  "ionosDatacenterId" (list "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}" "is not a UUID; copy it from the IONOS console")
  "ionosClusterId" (list "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}" "is not a UUID; copy it from the IONOS console")
  "ionosApiUrl" (list (printf "((?i:https?)://%s|(%s)(:%s)|([^/:@?#\\s]+\\.[^/:@?#\\s]+|%s)(:%s)?)(/[^@?#\\s]*)?" (printf "(%s|\\[%s\\])(:%s)?" (printf "(?i:%s)" $name) (include "controller.ipv6" .) $port) (printf "(?i:%s)|\\[%s\\]" $name (include "controller.ipv6" .)) $port (printf "\\[%s\\]" (include "controller.ipv6" .)) $port) "is not the address of an API; write for example https://api.ionos.com, without credentials")
  "inventoryCommand" (list "[^\\s\\x00]+" "holds a space; name the program only, and put its arguments into controller.inventoryCommandArgs")
  "inventoryCommandEnv" (list (printf "\\s*%s\\s*(,\\s*%s\\s*)*" $item $item) "is not a list of names of variables; write for example AWS_PROFILE,LANG")
  "staticNodes" (list (printf "%s(,%s)*" $node $node) "is not a list of name=address; write for example worker-1=10.0.0.11,worker-2=10.0.0.12")
  "targetPorts" (list (printf "%s(,%s)*" $target $target) "is not a list of name=port; write for example http=8080,dns=53/UDP")
  "healthCheckHost" (list $host "is not a host name or an IP address; write for example web.example.com, without a port")
  "healthCheckTlsServerName" (list $host "is not a host name or an IP address; write for example web.example.com, without a port")
  "healthCheckPath" (list "/([!-\\x22$&->@-~]|%[0-9a-fA-F]{2})*([?][!-\\x22$-~]*)?" "is not the path of a URL; write for example /healthz, with %20 for a space")
  "healthCheckExpectedStatus" (list (printf "\\s*%s(-%s)?\\s*(,\\s*%s(-%s)?\\s*)*" $status $status $status $status) "is not a list of HTTP statuses from 100 to 599; write for example 200-399,404")
  "metricsAddress" (list (printf "%s:%s" $address $port) "is not an IP address with a port from 1 to 65535; the Service and the probes need a port that they know, so write for example 0.0.0.0:8081")
  "adminAddress" (list (printf "%s:(0|%s)" $address $port) "is not an IP address with a port; write for example 127.0.0.1:8080")
| toJson }}
{{- end }}

{{/* A duration as milliseconds. */}}
{{- define "controller.milliseconds" -}}
{{- $sum := 0.0 }}
{{- $units := dict "ns" 0.000001 "us" 0.001 "ms" 1.0 "s" 1000.0 "m" 60000.0 "h" 3600000.0 }}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)" . -1 }}
{{- $sum = addf $sum (mulf (float64 (regexFind "^[0-9.]+" .)) (get $units (regexReplaceAll "^[0-9.]+" . ""))) }}
{{- end }}
{{- $sum }}
{{- end }}

{{/* What is wrong with a subnet: a word about it, or nothing. */}}
{{- define "controller.wrongSubnet" -}}
{{- $subnet := trim . }}
{{- $bits := "" }}
{{- if regexMatch (printf "^%s/(3[0-2]|[12]?[0-9])$" (include "controller.ipv4" .)) $subnet }}
{{- $bits = include "controller.addressBits" (first (splitList "/" $subnet)) }}
{{- else if regexMatch (printf "^%s/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$" (include "controller.ipv6" .)) $subnet }}
{{- $bits = include "controller.addressBits" (first (splitList "/" $subnet)) }}
{{- else }}
{{- printf "%s is not an address range; write for example 10.0.0.0/24" $subnet }}
{{- end }}
{{- if $bits }}
{{- if contains "1" (substr (int (last (splitList "/" $subnet))) (len $bits) $bits) }}
{{- printf "%s has bits set after its prefix; write the first address of the range" $subnet }}
{{- end }}
{{- end }}
{{- end }}

{{/* Each value by itself. */}}
{{- define "controller.mistakesOfForms" -}}
{{- $m := list }}
{{- $forms := include "controller.forms" . | fromJson }}
{{- $limits := include "controller.limits" . | fromYaml }}
{{- range $key, $value := .Values.controller }}
{{- $text := "" }}
{{- if not (kindIs "invalid" $value) }}
{{- $text = include "controller.text" $value }}
{{- end }}
{{- if $text }}
{{- with get $limits $key }}
{{- $least := include "controller.text" (first .) }}
{{- $most := include "controller.text" (last .) }}
{{- $is := ternary (float64 $text) (float64 (include "controller.milliseconds" $text)) (regexMatch "^[0-9]+$" $text) }}
{{- $from := ternary (float64 $least) (float64 (include "controller.milliseconds" $least)) (regexMatch "^[0-9]+$" $least) }}
{{- $to := ternary (float64 $most) (float64 (include "controller.milliseconds" $most)) (regexMatch "^[0-9]+$" $most) }}
{{- if or (lt $is $from) (gt $is $to) }}
{{- $m = append $m (printf "controller.%s: %s is outside %s to %s; write a value within" $key $text $least $most) }}
{{- end }}
{{- end }}
{{- with get $forms $key }}
{{- if not (regexMatch (printf "^(%s)$" (first .)) $text) }}
{{- $m = append $m (printf "controller.%s: %s" $key (last .)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- range include "controller.subnets" . | fromJsonArray }}
{{- with include "controller.wrongSubnet" . }}
{{- $m = append $m (printf "controller.securedSubnetCidr: %s" .) }}
{{- end }}
{{- end }}
{{- range $.Values.bounds.subnets }}
{{- with include "controller.wrongSubnet" . }}
{{- $m = append $m (printf "bounds.subnets: %s" .) }}
{{- end }}
{{- end }}
{{- range $.Values.bounds.ports }}
{{- with include "controller.wrongPorts" . }}
{{- $m = append $m (printf "bounds.ports: %s" .) }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}

{{/* What is wrong with a port or a range of ports. */}}
{{- define "controller.wrongPorts" -}}
{{- $text := include "controller.text" . }}
{{- with include "controller.ranges" (list .) | fromJsonArray | first }}
{{- if or (lt (int .from) 1) (gt (int .to) 65535) (gt (int .from) (int .to)) }}
{{- printf "%s is no port or range of ports from 1 to 65535; write for example 31000-31999" $text }}
{{- end }}
{{- end }}
{{- end }}

{{/* Values that a release cannot do without: an empty key, or null, takes the default away. */}}
{{- define "controller.neverNull" -}}
image
image.repository
image.tag
image.digest
image.pullPolicy
imagePullSecrets
secrets
secrets.ionosToken
secrets.ionosToken.name
secrets.ionosToken.key
secrets.ionosPassword
secrets.ionosPassword.name
secrets.ionosPassword.key
secrets.kubeconfig
secrets.kubeconfig.name
secrets.kubeconfig.key
controller
bounds
bounds.namespaces
bounds.namespaceSelector
bounds.leaving
bounds.subnets
bounds.ports
crds
crds.create
args
extraEnv
files
extraVolumes
extraVolumeMounts
initContainers
extraObjects
replicaCount
revisionHistoryLimit
terminationGracePeriodSeconds
hostNetwork
dnsPolicy
startupProbe
livenessProbe
readinessProbe
serviceAccount
serviceAccount.create
serviceAccount.name
serviceAccount.annotations
rbac
rbac.create
rbac.maxSlices
rbac.formerSliceNames
rbac.aggregate
admissionPolicy
admissionPolicy.enabled
flowSchema
flowSchema.enabled
flowSchema.priorityLevel
flowSchema.leasePriorityLevel
flowSchema.matchingPrecedence
networkPolicy
networkPolicy.enabled
networkPolicy.metricsFrom
networkPolicy.egress
networkPolicy.egress.dnsTo
networkPolicy.egress.dnsPorts
networkPolicy.egress.kubernetes
networkPolicy.egress.kubernetes.cidrs
networkPolicy.egress.kubernetes.ports
networkPolicy.egress.remote
networkPolicy.egress.remote.cidrs
networkPolicy.egress.remote.ports
networkPolicy.egress.ionos
networkPolicy.egress.ionos.cidrs
networkPolicy.egress.ionos.ports
networkPolicy.extraIngress
networkPolicy.extraEgress
podDisruptionBudget
podDisruptionBudget.enabled
podDisruptionBudget.maxUnavailable
metrics
metrics.service
metrics.service.enabled
metrics.service.annotations
metrics.serviceMonitor
metrics.serviceMonitor.enabled
metrics.serviceMonitor.labels
metrics.serviceMonitor.interval
metrics.serviceMonitor.scrapeTimeout
metrics.serviceMonitor.relabelings
metrics.prometheusRule
metrics.prometheusRule.enabled
metrics.prometheusRule.labels
metrics.dashboard
metrics.dashboard.enabled
metrics.dashboard.namespace
metrics.dashboard.labels
metrics.dashboard.annotations
tests
tests.enabled
commonLabels
podLabels
podAnnotations
deploymentAnnotations
nodeSelector
tolerations
priorityClassName
{{- end }}

{{- define "controller.mistakesOfNulls" -}}
{{- $m := list }}
{{- range splitList "\n" (include "controller.neverNull" . | trim) }}
{{- $at := $.Values }}
{{- $keys := splitList "." . }}
{{- range initial $keys }}
{{- $at = ternary (get $at .) dict (kindIs "map" (get $at .)) }}
{{- end }}
{{- if and $at (or (not (hasKey $at (last $keys))) (kindIs "invalid" (get $at (last $keys)))) }}
{{- $m = append $m (printf "%s: has no value; write one, or remove the line to have the default" .) }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}
