{{/* What the schema cannot see, because one value depends on another. All of it is reported at once. */}}
{{- define "controller.validate" -}}
{{- $c := .Values.controller }}
{{- $m := list }}
{{- if and (eq .Chart.AppVersion "unreleased") (not (or .Values.image.tag .Values.image.digest)) }}
{{- $m = append $m "image.tag: this chart is not a released one, so name the image that you built (or image.digest)" }}
{{- end }}
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
{{- if and (gt (int .Values.replicaCount) 1) (ne (toString $c.leaderElection) "true") }}
{{- $m = append $m "replicaCount: more than one replica needs controller.leaderElection=true" }}
{{- end }}
{{- if and (eq $c.storeKind "memory") (eq (toString $c.leaderElection) "true") }}
{{- $m = append $m "controller.leaderElection: controller.storeKind=memory writes nothing, set it to false (and replicaCount to 1)" }}
{{- end }}
{{- if regexMatch "^(127\\.|\\[::1\\])" $c.metricsAddress }}
{{- $m = append $m "controller.metricsAddress: the kubelet's probes come from outside of the Pod, a loopback address would fail them" }}
{{- end }}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- $m = append $m "serviceAccount.name: needed with serviceAccount.create=false" }}
{{- end }}
{{- range .Values.extraObjects }}
{{- $object := include "controller.extraObject" (list $ .) | fromYaml }}
{{- $name := dig "metadata" "name" "" $object }}
{{- if or (eq $object.kind "EndpointSlice") (and (eq $object.kind "Service") (eq $name $c.targetServiceName)) }}
{{- $m = append $m (printf "extraObjects: the %s %s must not be part of the release, because removing the release would remove the endpoints; apply it apart" $object.kind $name) }}
{{- end }}
{{- end }}
{{- if $m }}
{{- fail (printf "\n\n%d %s in the values:\n  - %s\n" (len $m) (ternary "mistake" "mistakes" (eq (len $m) 1)) (join "\n  - " $m)) }}
{{- end }}
{{- end }}
