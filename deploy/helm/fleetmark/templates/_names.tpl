{{- define "fleetmark.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains "fleetmark" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-fleetmark" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels of a part: dict "root" . "part" "collector" */}}
{{- define "fleetmark.selector" -}}
app.kubernetes.io/name: fleetmark
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}
{{- define "fleetmark.labels" -}}
{{ include "fleetmark.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: fleetmark
{{- end }}

{{- define "fleetmark.image" -}}
{{ .root.Values.image.registry }}/fleetmark-{{ .part }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- define "fleetmark.ownCollector" -}}
{{ include "fleetmark.fullname" . }}-collector.{{ .Release.Namespace }}.svc:9410
{{- end }}

{{/* What no container of Fleetmark's is given. */}}
{{- define "fleetmark.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
{{- end }}

{{/* agent.yaml up to the benchmarks: dict "root" . "collectors" list */}}
{{- define "fleetmark.agentConfig" -}}
# @NODE_NAME@ is put in by the container's entry point.
node:
  name: "@NODE_NAME@"
  {{- with .root.Values.agent.nodeLabels }}
  labels: {{ toJson . }}
  {{- end }}
collectors: {{ toJson (.collectors | default (list (include "fleetmark.ownCollector" .root))) }}
{{- if .root.Values.tls.enabled }}
tls: {ca: /etc/fleetmark/tls/ca.crt, certificate: /etc/fleetmark/tls/tls.crt, key: /etc/fleetmark/tls/tls.key}
{{- else }}
allow_plaintext: true
{{- end }}
plugin_paths: [/usr/lib/fleetmark/plugins]
data_dir: /var/lib/fleetmark/agent
{{- end }}
