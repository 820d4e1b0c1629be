/**
 * The one table of alerts. The rules of Prometheus (`deploy/prometheus/alerts.yaml`), the tests
 * that `promtool` runs, and the table of the operations guide follow from it. An installation is
 * one job of Prometheus, whose name begins with `gatehook`.
 */
import { stringify } from 'yaml'
import { alerts } from './alert-rows.ts'

type Labels = Readonly<Record<string, string>>

interface AlertCase {
  readonly title: string
  /** Series with their values from minute 0 on, as promtool expands them. */
  readonly series: Readonly<Record<string, string>>
  readonly minute: number
}

export interface Alert {
  readonly name: string
  /** For the page. */
  readonly when: string
  readonly expr: string
  /** The time for which the expression holds. */
  readonly for: string
  /** `page` wakes an operator, `ticket` waits until the morning. */
  readonly severity: 'page' | 'ticket'
  readonly summary: string
  /** The heading of the operations guide that says what to do. */
  readonly runbook: string
  /** The alert fires, with these labels besides the severity. */
  readonly fires: AlertCase & { readonly labels: Labels }
  /** It does not. */
  readonly silent: readonly AlertCase[]
}

const GUIDE = 'docs/guides/operations.md'
const NOTE = '# Written by `npm run docs` from docs/generate/alert-rows.ts.\n'

/** Returns the anchor of a heading, as GitHub writes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replace(/\s/g, '-')

const annotationsOf = ({ summary, runbook }: Alert) => ({
  summary,
  runbook_url: `${GUIDE}#${anchorOf(runbook)}`,
})

const yaml = (value: unknown): string => NOTE + stringify(value, { lineWidth: 0 })

export const alertRules = (): string =>
  yaml({
    groups: [
      {
        name: 'gatehook',
        rules: alerts.map((alert) => ({
          alert: alert.name,
          expr: alert.expr,
          for: alert.for,
          labels: { severity: alert.severity },
          annotations: annotationsOf(alert),
        })),
      },
    ],
  })

const testOf = (alert: Alert, { title, series, minute }: AlertCase, labels?: Labels) => ({
  name: `${alert.name}: ${title}`,
  interval: '1m',
  input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
  alert_rule_test: [
    {
      eval_time: `${minute}m`,
      alertname: alert.name,
      ...(labels && {
        exp_alerts: [
          {
            exp_labels: { severity: alert.severity, ...labels },
            exp_annotations: annotationsOf(alert),
          },
        ],
      }),
    },
  ],
})

export const alertTests = (): string =>
  yaml({
    rule_files: ['alerts.yaml'],
    evaluation_interval: '1m',
    tests: alerts.flatMap((alert) => [
      testOf(alert, alert.fires, alert.fires.labels),
      ...alert.silent.map((silent) => testOf(alert, silent)),
    ]),
  })

const RUNBOOKS = '../guides/operations.md'

export const alertsPage = (): string =>
  [
    '# Alerts',
    '',
    '`docs/generate/alert-rows.ts` generates this page, `deploy/prometheus/alerts.yaml` and its',
    'tests: `promtool test rules deploy/prometheus/alerts.test.yaml`. `page` wakes an operator,',
    '`ticket` waits until the morning.',
    '',
    '| alert | when | severity | then |',
    '| --- | --- | --- | --- |',
    ...alerts.map(
      ({ name, when, severity, runbook }) =>
        `| \`${name}\` | ${when} | ${severity} | [${runbook}](${RUNBOOKS}#${anchorOf(runbook)}) |`,
    ),
    '',
  ].join('\n')
