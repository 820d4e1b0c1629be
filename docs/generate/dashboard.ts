/** Generates `deploy/grafana/gatehook.json`: one panel for each row of a table. */

/** The series of the selected installations and nodes. */
const S = 'job=~"$job",instance=~"$instance"'
const RATE = '[$__rate_interval]'

interface PanelRow {
  readonly title: string
  readonly unit: string
  /** Expressions with the legends of their series. */
  readonly series: readonly (readonly [expr: string, legend: string])[]
}

const rate = (labels: string, metric: string, more = '') =>
  `sum by (${labels}) (rate(${metric}{${S}${more}}${RATE}))`
const latency = (metric: string, share: number) =>
  `histogram_quantile(${share}, sum by (le) (rate(${metric}_bucket{${S}}${RATE})))`
const HTTP = 'gatehook_http_request_duration_seconds'
const ATTEMPT = 'gatehook_webhook_attempt_duration_seconds'

const panels: readonly PanelRow[] = [
  {
    title: 'Failing checks of readiness',
    unit: 'short',
    series: [
      [`sum by (instance, check) (gatehook_check_failed{${S}}) > 0`, '{{instance}} {{check}}'],
      [`gatehook_database_fault{${S}} > 0`, '{{instance}} database: {{fault}}'],
    ],
  },
  {
    title: 'Responses by status',
    unit: 'reqps',
    series: [[rate('status', 'gatehook_http_requests_total'), '{{status}}']],
  },
  {
    title: 'Time to respond',
    unit: 's',
    series: [0.5, 0.95, 0.99].map((share) => [latency(HTTP, share), `p${share * 100}`] as const),
  },
  {
    title: 'Busiest routes',
    unit: 'reqps',
    series: [
      [
        `topk(10, ${rate('method, route', 'gatehook_http_requests_total')})`,
        '{{method}} {{route}}',
      ],
    ],
  },
  {
    title: 'Rejected by limits (429)',
    unit: 'reqps',
    series: [[rate('route', 'gatehook_http_requests_total', ',status="429"'), '{{route}}']],
  },
  {
    title: 'Database: available, transactions, waits for a connection',
    unit: 'short',
    series: [
      [`gatehook_database_available{${S}}`, '{{instance}} available'],
      [`gatehook_storage_queued{${S}}`, '{{instance}} transactions'],
      [`gatehook_storage_connection_waits{${S}}`, '{{instance}} waits'],
    ],
  },
  {
    title: 'Lag of standbys',
    unit: 's',
    series: [[`max by (standby) (gatehook_replication_lag_seconds{${S}})`, '{{standby}}']],
  },
  {
    title: 'Difference of clocks',
    unit: 's',
    series: [[`gatehook_clock_difference_seconds{${S}}`, '{{instance}}']],
  },
  {
    title: 'Attempts by outcome',
    unit: 'ops',
    series: [[rate('outcome', 'gatehook_webhook_attempts_total'), '{{outcome}}']],
  },
  {
    title: 'Duration of attempts',
    unit: 's',
    series: [0.5, 0.95].map((share) => [latency(ATTEMPT, share), `p${share * 100}`] as const),
  },
  {
    title: 'Age of the oldest due delivery',
    unit: 's',
    series: [
      [`max(gatehook_webhook_late_seconds{${S}})`, 'waits for a node'],
      [`max(gatehook_webhook_queue_age_seconds{${S}})`, 'waits for a node or a receiver'],
    ],
  },
  {
    title: 'Deliveries that wait',
    unit: 'short',
    series: [[`max by (job) (gatehook_webhook_queue_length{${S}})`, '{{job}}']],
  },
  {
    title: 'Receivers by health',
    unit: 'short',
    series: [[`sum by (health) (gatehook_webhook_receivers{${S}})`, '{{health}}']],
  },
  {
    title: 'Attempts at jobs by kind and outcome, per hour',
    unit: 'short',
    series: [
      [
        `sum by (kind, outcome) (increase(gatehook_job_attempts_total{${S}}[1h]))`,
        '{{kind}} {{outcome}}',
      ],
    ],
  },
  {
    title: 'Records of the request log',
    unit: 'ops',
    series: [[rate('outcome', 'gatehook_request_log_records_total'), '{{outcome}}']],
  },
  {
    title: 'Runs of purges by outcome, per hour',
    unit: 'short',
    series: [
      [
        `sum by (chore, outcome) (increase(gatehook_chore_runs_total{${S}}[1h]))`,
        '{{chore}} {{outcome}}',
      ],
    ],
  },
  {
    title: 'Busy share of the event loop',
    unit: 'percentunit',
    series: [[`rate(nodejs_eventloop_active_seconds_total{${S}}${RATE})`, '{{instance}}']],
  },
  {
    title: 'Processor time',
    unit: 'percentunit',
    series: [[`rate(process_cpu_seconds_total{${S}}${RATE})`, '{{instance}}']],
  },
  {
    title: 'Resident memory',
    unit: 'bytes',
    series: [[`process_resident_memory_bytes{${S}}`, '{{instance}}']],
  },
  {
    title: 'Free space of the disk',
    unit: 'percentunit',
    series: [[`gatehook_disk_free_bytes{${S}} / gatehook_disk_size_bytes{${S}}`, '{{instance}}']],
  },
  {
    title: 'Age of the backup, time to the end of the certificate',
    unit: 's',
    series: [
      [`max by (job) (gatehook_backup_age_seconds{${S}})`, '{{job}} backup'],
      [`gatehook_certificate_end_timestamp_seconds{${S}} - time()`, '{{instance}} certificate'],
    ],
  },
]

const SIZE = { h: 8, w: 12 }
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana
const datasource = { type: 'prometheus', uid: '${datasource}' }

const panelOf = ({ title, unit, series }: PanelRow, at: number) => ({
  id: at + 1,
  type: 'timeseries',
  title,
  datasource,
  gridPos: { ...SIZE, x: (at % 2) * SIZE.w, y: Math.floor(at / 2) * SIZE.h },
  fieldConfig: { defaults: { unit }, overrides: [] },
  targets: series.map(([expr, legendFormat], n) => ({
    refId: String.fromCharCode(65 + n),
    datasource,
    expr,
    legendFormat,
  })),
})

const variable = (name: string, label: string, query: string) => ({
  name,
  label,
  type: 'query',
  datasource,
  query: { query, refId: name },
  refresh: 2,
  includeAll: true,
  multi: true,
  current: { text: 'All', value: '$__all' },
})

export const dashboard = (): string =>
  `${JSON.stringify(
    {
      title: 'Gatehook',
      uid: 'gatehook',
      schemaVersion: 39,
      refresh: '30s',
      time: { from: 'now-6h', to: 'now' },
      tags: ['gatehook'],
      annotations: { list: [] },
      editable: true,
      graphTooltip: 1,
      templating: {
        list: [
          { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' },
          variable('job', 'Installation', 'label_values(gatehook_build_info, job)'),
          variable('instance', 'Node', 'label_values(gatehook_build_info{job=~"$job"}, instance)'),
        ],
      },
      panels: panels.map(panelOf),
    },
    null,
    2,
  ).replace(/\[\n\s+("[^"\n]*")\n\s+\]/g, '[$1]')}\n`
