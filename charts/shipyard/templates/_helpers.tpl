{{/* Names and labels; `component` is api, worker or migration. Each takes a dict with `top` and `component`. */}}

{{- define "shipyard.name" -}}
{{- printf "%s-%s" .top.Release.Name .component | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "shipyard.selector" -}}
app.kubernetes.io/name: shipyard
app.kubernetes.io/instance: {{ .top.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "shipyard.labels" -}}
{{ include "shipyard.selector" . }}
app.kubernetes.io/version: {{ .top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .top.Chart.Name .top.Chart.Version }}
{{- end -}}

{{- define "shipyard.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{- define "shipyard.settings" -}}
# Everything that is no secret; the rest comes from the environment.
{{- range $section, $settings := .Values.settings }}

[{{ $section }}]
{{- range $name, $value := $settings }}
{{ $name }} = {{ if and (kindIs "float64" $value) (eq (floor $value) $value) }}{{ int64 $value }}{{ else }}{{ $value }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What all pods have in common. */}}
{{- define "shipyard.pod" -}}
serviceAccountName: {{ .Release.Name }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "shipyard.container" -}}
image: {{ include "shipyard.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - secretRef: {name: {{ .Values.existingSecret | quote }}}
{{- end -}}

{{- define "shipyard.spread" -}}
{{- $selector := include "shipyard.selector" . -}}
{{- range .top.Values.spread }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- $selector | nindent 6 }}
{{- end }}
{{- end -}}

{{- define "shipyard.volumes" -}}
- name: settings
  configMap: {name: {{ .Release.Name }}}
- name: tmp
  emptyDir: {}
{{- with .Values.existingFilesSecret }}
- name: files
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- define "shipyard.mounts" -}}
- {name: settings, mountPath: /etc/shipyard/shipyard.conf, subPath: shipyard.conf, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .Values.existingFilesSecret }}
- {name: files, mountPath: /etc/shipyard/files, readOnly: true}
{{- end }}
{{- end -}}
