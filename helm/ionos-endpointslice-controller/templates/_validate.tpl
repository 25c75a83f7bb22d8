{{/* What the schema cannot see, because one value depends on another. All of it is reported at once. */}}
{{- define "controller.validate" -}}
{{- $m := include "controller.mistakesOfNulls" . | fromJsonArray }}
{{- if not $m }}
{{- $m = include "controller.mistakes" . | fromJsonArray }}
{{- end }}
{{- if $m }}
{{- fail (printf "\n\n%d %s in the values:\n  - %s\n" (len $m) (ternary "mistake" "mistakes" (eq (len $m) 1)) (join "\n  - " $m)) }}
{{- end }}
{{- end }}

{{- define "controller.mistakes" -}}
{{- $c := .Values.controller }}
{{- $m := include "controller.mistakesOfForms" . | fromJsonArray }}
{{- if and (eq .Chart.AppVersion "unreleased") (not (or .Values.image.tag .Values.image.digest)) }}
{{- $m = append $m "image.tag: this chart is not a released one, so name the image that you built (or image.digest)" }}
{{- end }}
{{- if include "controller.byDocuments" . }}
{{- $m = concat $m (include "controller.mistakesOfDocuments" . | fromJsonArray) }}
{{- else }}
{{- $m = concat $m (include "controller.mistakesOfVariables" . | fromJsonArray) }}
{{- end }}
{{- if and (gt (int .Values.replicaCount) 1) (ne (toString $c.leaderElection) "true") }}
{{- $m = append $m "replicaCount: more than one replica needs controller.leaderElection=true" }}
{{- end }}
{{- if and (eq $c.storeKind "memory") (eq (toString $c.leaderElection) "true") }}
{{- $m = append $m "controller.leaderElection: controller.storeKind=memory writes nothing, set it to false (and replicaCount to 1)" }}
{{- end }}
{{- if regexMatch "^(127\\.|\\[::1\\])" $c.metricsAddress }}
{{- $m = append $m "controller.metricsAddress: the kubelet's probes come from outside of the Pod, a loopback address would fail them" }}
{{- end }}
{{- $admin := $c.adminAddress | default "127.0.0.1:8080" }}
{{- $same := and (eq (regexFind "[0-9]+$" $c.metricsAddress) (regexFind "[0-9]+$" $admin)) (not (hasSuffix ":0" $admin)) }}
{{- if and $same (or (eq $admin $c.metricsAddress) (regexMatch "^(0\\.0\\.0\\.0|\\[::\\]):" $admin) (regexMatch "^(0\\.0\\.0\\.0|\\[::\\]):" $c.metricsAddress)) }}
{{- $m = append $m (printf "controller.metricsAddress: has the port of controller.adminAddress (%s); choose another port for one of them" $admin) }}
{{- end }}
{{- if and (regexMatch "/cloudapi(/|$)" (default "" $c.ionosApiUrl)) (not (regexMatch "/cloudapi/v6/*$" $c.ionosApiUrl)) }}
{{- $m = append $m "controller.ionosApiUrl: has the path of another version of the API; write for example https://api.ionos.com" }}
{{- end }}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- $m = append $m "serviceAccount.name: needed with serviceAccount.create=false" }}
{{- end }}
{{- range .Values.extraObjects }}
{{- $object := include "controller.extraObject" (list $ .) | fromYaml }}
{{- $name := dig "metadata" "name" "" $object }}
{{- if or (eq $object.kind "EndpointSlice") (and (eq $object.kind "Service") (include "controller.isFilled" (list $ $object))) }}
{{- $m = append $m (printf "extraObjects: the %s %s must not be part of the release, because removing the release would remove the endpoints; apply it apart" $object.kind $name) }}
{{- end }}
{{- end }}
{{- range .Values.bounds.leaving }}
{{- if include "controller.byAPI" $ }}
{{- $m = append $m (printf "bounds.leaving: has no effect with controller.documentsApi, because the new Pods do not look at %s; leave it in bounds.namespaces, delete its bindings, remove it from spec.allow of every pool, wait until its slices are empty, then remove it" .) }}
{{- else if include "controller.boundByCluster" $ }}
{{- $m = append $m (printf "bounds.leaving: %s needs no entry, because the ClusterRole is for every namespace; remove it" .) }}
{{- else if has . (ternary $.Values.bounds.namespaces (list (include "controller.targetNamespace" $)) (eq (include "controller.byDocuments" $) "true")) }}
{{- $m = append $m (printf "bounds.leaving: %s is filled still; remove it here, or there" .) }}
{{- end }}
{{- end }}
{{- if and .Values.rbac.formerSliceNames (or .Values.admissionPolicy.enabled (include "controller.byDocuments" .)) }}
{{- $m = append $m "rbac.formerSliceNames: has no effect, because the Role names slices only without pools and with admissionPolicy.enabled=false; remove it" }}
{{- end }}
{{- range $where, $labels := dict "podLabels" .Values.podLabels "commonLabels" .Values.commonLabels }}
{{- range $label, $_ := $labels }}
{{- if regexMatch "^(app\\.kubernetes\\.io/(name|instance|component|version|managed-by)|helm\\.sh/chart)$" $label }}
{{- $m = append $m (printf "%s: the label %s is the chart's own; remove it" $where $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}

{{/* Whether a Service is one that the release fills: a list of the root and the Service. */}}
{{- define "controller.isFilled" -}}
{{- $values := (index . 0).Values }}
{{- $meta := (index . 1).metadata }}
{{- if not (include "controller.byDocuments" (index . 0)) }}
{{- if eq $meta.name $values.controller.targetServiceName }}true{{ end }}
{{- else if hasKey (default dict $meta.annotations) "endpoints.ablmnzde.github.io/pool" }}true
{{- else if dig (default (index . 0).Release.Namespace $meta.namespace) $meta.name false (default dict $values.bindings) }}true
{{- end }}
{{- end }}

{{/* Where one Service is filled as variables say. */}}
{{- define "controller.mistakesOfVariables" -}}
{{- $c := .Values.controller }}
{{- $m := list }}
{{- if eq $c.sourceKind "ionos" }}
{{- if not $c.ionosDatacenterId }}
{{- $m = append $m "controller.ionosDatacenterId: needed with controller.sourceKind=ionos" }}
{{- end }}
{{- if not $c.ionosPrivateLanId }}
{{- $m = append $m "controller.ionosPrivateLanId: needed with controller.sourceKind=ionos" }}
{{- end }}
{{- if not (or $c.ionosClusterId $c.securedKubeconfig .Values.secrets.kubeconfig.name) }}
{{- $m = append $m "secrets.kubeconfig.name: name a Secret with the remote cluster's kubeconfig, or set controller.ionosClusterId" }}
{{- end }}
{{- if not (or $c.ionosUsername $c.ionosTokenFile .Values.secrets.ionosToken.name .Values.extraEnv) }}
{{- $m = append $m "secrets.ionosToken.name: name a Secret with a token of the IONOS Cloud API" }}
{{- end }}
{{- end }}
{{- if and $c.ionosUsername (include "controller.asksIONOS" .) (not (or .Values.secrets.ionosPassword.name $c.ionosPasswordFile .Values.extraEnv)) }}
{{- $m = append $m "secrets.ionosPassword.name: controller.ionosUsername needs a Secret with the password" }}
{{- end }}
{{- if and (eq $c.sourceKind "kubernetes") (not (or $c.securedKubeconfig .Values.secrets.kubeconfig.name)) }}
{{- $m = append $m "secrets.kubeconfig.name: controller.sourceKind=kubernetes needs a Secret with the remote cluster's kubeconfig" }}
{{- end }}
{{- range $kind, $key := dict "static" "staticNodes" "file" "inventoryFilePath" "command" "inventoryCommand" }}
{{- if and (eq $c.sourceKind $kind) (not (get $c $key)) }}
{{- $m = append $m (printf "controller.%s: needed with controller.sourceKind=%s" $key $kind) }}
{{- end }}
{{- end }}
{{- if not $c.targetServiceName }}
{{- $m = append $m "controller.targetServiceName: name the selector-less Service" }}
{{- end }}
{{- if not $c.securedSubnetCidr }}
{{- $m = append $m "controller.securedSubnetCidr: required, because only addresses inside it are published and probed; set it to the private LAN of the nodes, for example 10.7.222.0/24" }}
{{- end }}
{{- if not (or $c.targetPort $c.targetPorts) }}
{{- $m = append $m "controller.targetPort: set it, or controller.targetPorts" }}
{{- end }}
{{- $m = concat $m (include "controller.mistakesOfChecks" . | fromJsonArray) }}
{{- range $key := list "credentialsDir" "boundsSubnets" "boundsNamespaces" "boundsPorts" "boundsLeaving" }}
{{- if get $c $key }}
{{- $m = append $m (printf "controller.%s: has no effect without documents; remove it" $key) }}
{{- end }}
{{- end }}
{{- range $key := list "bindings" "credentials" }}
{{- if get $.Values $key }}
{{- $m = append $m (printf "%s: has no effect without pools; write the pools, or remove it" $key) }}
{{- end }}
{{- end }}
{{- range $key, $value := .Values.bounds }}
{{- if and $value (ne $key "leaving") }}
{{- $m = append $m (printf "bounds.%s: has no effect without pools; write the pools, or remove it" $key) }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}

{{/* Values of the target and its check against each other. */}}
{{- define "controller.mistakesOfChecks" -}}
{{- $c := .Values.controller }}
{{- $m := list }}
{{- if has $c.targetManagedBy (list "controller" "endpointslice-controller.k8s.io" "endpointslicemirroring-controller.k8s.io") }}
{{- $m = append $m "controller.targetManagedBy: is the name of another controller, which would overwrite the slices; remove it, or choose a name of your own" }}
{{- end }}
{{- if gt (len (default "" $c.targetEndpointsliceName)) 243 }}
{{- $m = append $m "controller.targetEndpointsliceName: is longer than 243 characters, which leaves no room for the suffix of further slices; choose a shorter name" }}
{{- end }}
{{- $mode := include "controller.healthCheckMode" . }}
{{- if and (ne $mode "off") (not $c.healthCheckPort) (ne (len (include "controller.checkedPorts" . | fromJsonArray)) 1) (or $c.targetPort $c.targetPorts) }}
{{- $m = append $m "controller.healthCheckPort: required, because controller.targetPorts has several TCP ports or none; set it to a TCP port, or controller.healthCheckMode to off" }}
{{- end }}
{{- if and $c.healthCheckTimeout $c.healthCheckInterval }}
{{- if gt (float64 (include "controller.milliseconds" $c.healthCheckTimeout)) (float64 (include "controller.milliseconds" $c.healthCheckInterval)) }}
{{- $m = append $m (printf "controller.healthCheckTimeout: is longer than controller.healthCheckInterval (%s); write at most that" $c.healthCheckInterval) }}
{{- end }}
{{- end }}
{{- if not $mode }}
{{- range $key, $default := dict "healthCheckPath" "/" "healthCheckHost" "" "healthCheckExpectedStatus" "200-399" }}
{{- $text := include "controller.text" (default "" (get $c $key)) }}
{{- if not (has $text (list "" $default)) }}
{{- $m = append $m (printf "controller.%s: has no effect, because controller.healthCheckMode is tcp by default; set that to http or https" $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- $insecure := eq (toString $c.healthCheckTlsInsecure) "true" }}
{{- range $key := list "healthCheckTlsCaFile" "healthCheckTlsServerName" "healthCheckTlsInsecure" }}
{{- if and (not (has $mode (list "https" "off"))) (get $c $key) (or $insecure (ne $key "healthCheckTlsInsecure")) }}
{{- $m = append $m (printf "controller.%s: has no effect without controller.healthCheckMode=https; set that, or remove it" $key) }}
{{- end }}
{{- end }}
{{- if and (eq $mode "https") $insecure $c.healthCheckTlsCaFile }}
{{- $m = append $m "controller.healthCheckTlsInsecure: contradicts controller.healthCheckTlsCaFile; remove one of them" }}
{{- end }}
{{- range $form := list "^[^=]*" "[0-9]+\\s*(/.*)?$" }}
{{- $seen := list }}
{{- range include "controller.list" $c.targetPorts | fromJsonArray }}
{{- $part := regexFind $form . | replace " " "" | upper }}
{{- $part = ternary (printf "%s/TCP" $part) $part (and (ne $form "^[^=]*") (not (contains "/" $part))) }}
{{- if has $part $seen }}
{{- $m = append $m (printf "controller.targetPorts: %s is there twice; remove one" (lower $part)) }}
{{- end }}
{{- $seen = append $seen $part }}
{{- end }}
{{- end }}
{{- $seen := list }}
{{- range include "controller.list" $c.staticNodes | fromJsonArray }}
{{- $name := regexFind "^[^=]*" . | trim }}
{{- if has $name $seen }}
{{- $m = append $m (printf "controller.staticNodes: two nodes are called %s; give each node a name of its own" $name) }}
{{- end }}
{{- $seen = append $seen $name }}
{{- end }}
{{- range include "controller.list" $c.healthCheckExpectedStatus | fromJsonArray }}
{{- if gt (first (splitList "-" .) | int) (last (splitList "-" .) | int) }}
{{- $m = append $m (printf "controller.healthCheckExpectedStatus: %s ends before it begins; swap the two" .) }}
{{- end }}
{{- end }}
{{- $ofNodes := or $c.securedKubeconfig (include "controller.usesKubeconfigSecret" .) }}
{{- if and $c.remoteService (not (has $c.sourceKind (list "kubernetes" "ionos"))) }}
{{- $m = append $m (printf "controller.remoteService: has no effect with controller.sourceKind=%s, whose nodes come from no kubeconfig; set that to kubernetes or ionos, or remove it" $c.sourceKind) }}
{{- else if and $c.remoteService (not $ofNodes) }}
{{- $m = append $m "controller.remoteService: needs the kubeconfig of the remote cluster; name it in secrets.kubeconfig.name, and remove controller.ionosClusterId" }}
{{- end }}
{{- if and $c.securedNodeSelector (eq $c.sourceKind "ionos") }}
{{- range splitList "," (regexReplaceAll "\\([^)]*\\)" $c.securedNodeSelector "") }}
{{- $key := regexFind "^[^ =!<>]+" (trim . | trimPrefix "!" | trim) }}
{{- $pool := eq $key "endpoints.ablmnzde.github.io/node-pool" }}
{{- $known := or $pool (has $key (list "kubernetes.io/hostname" "topology.kubernetes.io/zone" "enterprise.cloud.ionos.com/node-id" "enterprise.cloud.ionos.com/datacenter-id" "node.kubernetes.io/exclude-from-external-load-balancers" "node-role.kubernetes.io/control-plane" "node-role.kubernetes.io/master")) (not (regexMatch "^([^/]*\\.)?(kubernetes\\.io|k8s\\.io|cloud\\.ionos\\.com)/" $key)) }}
{{- if and $ofNodes $pool }}
{{- $m = append $m "controller.securedNodeSelector: nodes do not have the label endpoints.ablmnzde.github.io/node-pool; select by another, or set controller.ionosClusterId and no kubeconfig" }}
{{- else if not (or $ofNodes $known) }}
{{- $m = append $m (printf "controller.securedNodeSelector: the IONOS API does not report the label %s; select by a label of the node pools, or name the remote kubeconfig" $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}

{{/* Where documents say what is filled. What is wrong inside of one is for the program to say. */}}
{{- define "controller.mistakesOfDocuments" -}}
{{- $c := .Values.controller }}
{{- $bounds := .Values.bounds }}
{{- $m := list }}
{{- $defaults := dict "sourceKind" "ionos" "targetServiceName" "web" "targetPort" "8080" }}
{{- range $key, $field := include "controller.keysOfDocuments" . | fromYaml }}
{{- $value := get $c $key }}
{{- if not (or (kindIs "invalid" $value) (has (include "controller.text" $value) (list "" (get $defaults $key)))) }}
{{- $m = append $m (printf "controller.%s: with pools this is %s; write it there and remove it here" $key $field) }}
{{- end }}
{{- end }}
{{- if ne $c.storeKind "client-go" }}
{{- $m = append $m "controller.storeKind: pools need client-go; to write nothing, set controller.dryRun=true" }}
{{- end }}
{{- if $c.documentsDir }}
{{- range $key := list "pools" "bindings" }}
{{- if get $.Values $key }}
{{- $m = append $m (printf "%s: controller.documentsDir names a folder with other documents; remove one of the two" $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "controller.hasOtherPools" . }}
{{- range $key := list "subnets" "ports" }}
{{- if not (get $bounds $key) }}
{{- $m = append $m (printf "bounds.%s: required with controller.%s, because the chart cannot see the pools; list what all of them use" $key (ternary "documentsDir" "documentsApi" (not (empty $c.documentsDir)))) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $c.credentialsDir .Values.credentials }}
{{- $m = append $m "controller.credentialsDir: the chart mounts credentials itself; remove one of the two" }}
{{- end }}
{{- $named := include "controller.namedNamespaces" . | fromJsonArray }}
{{- if not (or $bounds.namespaces $bounds.namespaceSelector) }}
{{- $m = append $m (printf "bounds.namespaces: required, because the ServiceAccount gets rights in these namespaces only; the pools and bindings name %s" (join ", " $named | default "none")) }}
{{- else if and (has "*" $bounds.namespaces) (gt (len $bounds.namespaces) 1) }}
{{- $m = append $m "bounds.namespaces: \"*\" means every namespace; write it alone" }}
{{- else if not (include "controller.boundByCluster" .) }}
{{- range $named }}
{{- if has . $bounds.leaving }}
{{- $m = append $m (printf "bounds.leaving: has %s, which a pool or a binding names; remove it from pools and bindings, and its endpoints leave" .) }}
{{- else if not (has . $bounds.namespaces) }}
{{- $m = append $m (printf "bounds.namespaces: does not have %s, which a pool or a binding names; add it there, or remove it from pools and bindings and move it to bounds.leaving until its slices are empty" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $pool := .Values.pools }}
{{- $m = concat $m (include "controller.mistakesOfPool" (list $ $name $pool) | fromJsonArray) }}
{{- end }}
{{- range $namespace, $bindings := .Values.bindings }}
{{- range $service, $binding := $bindings }}
{{- range $binding.pools }}
{{- if not (or (include "controller.hasOtherPools" $) (hasKey $.Values.pools .name)) }}
{{- $m = append $m (printf "bindings.%s.%s.pools: there is no pool %s; the pools are %s" $namespace $service .name (keys $.Values.pools | sortAlpha | join ", ")) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}

{{/* A list of the root, the name of a pool and the pool. */}}
{{- define "controller.mistakesOfPool" -}}
{{- $values := (index . 0).Values }}
{{- $name := index . 1 }}
{{- $pool := index . 2 }}
{{- $m := list }}
{{- range $pool.subnets }}
{{- with include "controller.wrongSubnet" . }}
{{- $m = append $m (printf "pools.%s.subnets: %s" $name .) }}
{{- end }}
{{- end }}
{{- range $pool.allow }}
{{- range .ports }}
{{- with include "controller.wrongPorts" . }}
{{- $m = append $m (printf "pools.%s.allow: %s" $name .) }}
{{- end }}
{{- end }}
{{- range .namespaces }}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" .) }}
{{- $m = append $m (printf "pools.%s.allow: %s is not the name of a namespace; name each, or select them by namespaceSelector" $name .) }}
{{- end }}
{{- end }}
{{- end }}
{{- $check := default dict $pool.healthCheck }}
{{- $guard := default dict $pool.guard }}
{{- range $of := list
  (list "pollInterval" $pool.pollInterval "100ms" "24h") (list "releaseAfter" $pool.releaseAfter "0s" "24h")
  (list "healthCheck.interval" $check.interval "100ms" "1h") (list "healthCheck.timeout" $check.timeout "10ms" "1h")
  (list "guard.drainPeriod" $guard.drainPeriod "0s" "24h") }}
{{- with index $of 1 }}
{{- $is := float64 (include "controller.milliseconds" .) }}
{{- if or (lt $is (float64 (include "controller.milliseconds" (index $of 2)))) (gt $is (float64 (include "controller.milliseconds" (index $of 3)))) }}
{{- $m = append $m (printf "pools.%s.%s: %s is outside %s to %s; write a duration within" $name (index $of 0) . (index $of 2) (index $of 3)) }}
{{- end }}
{{- end }}
{{- end }}
{{- if $check.timeout }}
{{- $interval := $check.interval | default "2s" }}
{{- if gt (float64 (include "controller.milliseconds" $check.timeout)) (float64 (include "controller.milliseconds" $interval)) }}
{{- $m = append $m (printf "pools.%s.healthCheck.timeout: is longer than the interval (%s); write at most that" $name $interval) }}
{{- end }}
{{- end }}
{{- with $pool.credentials }}
{{- if not (or (hasKey (default dict $values.credentials) .) $values.controller.credentialsDir) }}
{{- $m = append $m (printf "pools.%s.credentials: there is no credentials.%s; name the Secret in credentials.%s.secretName" $name . .) }}
{{- end }}
{{- else }}
{{- range $kind := list "ionos" "kubernetes" }}
{{- if hasKey $pool.source $kind }}
{{- $m = append $m (printf "pools.%s.credentials: the source %s needs it; name an entry of credentials" $name $kind) }}
{{- end }}
{{- end }}
{{- end }}
{{- with $values.bounds.ports }}
{{- $within := include "controller.ranges" . | fromJsonArray }}
{{- range $port := include "controller.portsOfPool" $pool | fromJsonArray }}
{{- $is := include "controller.ranges" (list $port) | fromJsonArray | first }}
{{- $ok := false }}
{{- range $within }}
{{- if and (le .from $is.from) (ge .to $is.to) }}
{{- $ok = true }}
{{- end }}
{{- end }}
{{- if not $ok }}
{{- $m = append $m (printf "pools.%s.allow: the port %s is not in bounds.ports (%s); add it there, or remove it here" $name (include "controller.text" $port) (join ", " $values.bounds.ports)) }}
{{- end }}
{{- end }}
{{- end }}
{{- with $values.bounds.subnets }}
{{- range $subnet := $pool.subnets }}
{{- $ok := false }}
{{- range $values.bounds.subnets }}
{{- if hasPrefix (include "controller.bits" .) (include "controller.bits" $subnet) }}
{{- $ok = true }}
{{- end }}
{{- end }}
{{- if not $ok }}
{{- $m = append $m (printf "pools.%s.subnets: %s is not in bounds.subnets (%s); add it there, or remove it here" $name $subnet (join ", " $values.bounds.subnets)) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $m }}
{{- end }}

{{/* The bits of a subnet as text: 10.0.0.0/8 is "4:00001010". A subnet is in another one whose bits its own begin with. */}}
{{- define "controller.bits" -}}
{{- $parts := splitList "/" . }}
{{- $address := first $parts }}
{{- printf "%s:%s" (ternary "6" "4" (contains ":" $address)) (trunc (int (last $parts)) (include "controller.addressBits" $address)) }}
{{- end }}

{{- define "controller.addressBits" -}}
{{- $address := . }}
{{- $bits := "" }}
{{- if contains ":" $address }}
{{- $halves := splitList "::" $address }}
{{- $before := compact (splitList ":" (first $halves)) }}
{{- $after := list }}
{{- if gt (len $halves) 1 }}
{{- $after = compact (splitList ":" (last $halves)) }}
{{- end }}
{{- $zeros := list }}
{{- range until (int (sub 8 (add (len $before) (len $after)))) }}
{{- $zeros = append $zeros "0" }}
{{- end }}
{{- range concat $before $zeros $after }}
{{- range splitList "" (printf "%4s" (lower .) | replace " " "0") }}
{{- $bits = print $bits (index (dict "0" "0000" "1" "0001" "2" "0010" "3" "0011" "4" "0100" "5" "0101" "6" "0110" "7" "0111" "8" "1000" "9" "1001" "a" "1010" "b" "1011" "c" "1100" "d" "1101" "e" "1110" "f" "1111") .) }}
{{- end }}
{{- end }}
{{- else }}
{{- range splitList "." $address }}
{{- $bits = print $bits (printf "%08b" (int .)) }}
{{- end }}
{{- end }}
{{- $bits }}
{{- end }}
