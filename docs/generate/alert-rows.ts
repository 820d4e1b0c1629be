/** The rows of the table of alerts. `alerts.ts` explains the columns. */
import type { Alert } from './alerts.ts'
import { databaseAlerts } from './database-alert-rows.ts'
import { machineAlerts } from './machine-alert-rows.ts'

const A = 'job="gatehook",instance="a"'
const B = 'job="gatehook",instance="b"'
const node = { job: 'gatehook', instance: 'a' }
const requests = (status: number) => `gatehook_http_requests_total{${A},status="${status}"}`
const receivers = (health: string) => `gatehook_webhook_receivers{${A},health="${health}"}`
const attempts = (outcome: string) =>
  `gatehook_job_attempts_total{${A},kind="job",outcome="${outcome}"}`
const bucket = (le: string) => `gatehook_http_request_duration_seconds_bucket{${A},le="${le}"}`

export const alerts: readonly Alert[] = [
  {
    name: 'GatehookDown',
    when: 'no node answers for 1 min',
    expr: 'sum by (job) (up{job=~"gatehook.*"}) == 0',
    for: '1m',
    severity: 'page',
    summary: 'No node of the installation answers.',
    runbook: 'A node is down',
    fires: {
      title: 'all nodes',
      series: { [`up{${A}}`]: '1 0x9', [`up{${B}}`]: '1 0x9' },
      minute: 5,
      labels: { job: 'gatehook' },
    },
    silent: [
      { title: 'one of two', series: { [`up{${A}}`]: '0x9', [`up{${B}}`]: '1x9' }, minute: 5 },
    ],
  },
  {
    name: 'GatehookAbsent',
    when: 'Prometheus knows no node for 5 min',
    expr: 'absent(up{job=~"gatehook.*"})',
    for: '5m',
    severity: 'page',
    summary: 'Prometheus has no target of a job gatehook….',
    runbook: 'A node is down',
    fires: { title: 'no target', series: { 'up{job="other"}': '1x9' }, minute: 8, labels: {} },
    silent: [{ title: 'a node that is down', series: { [`up{${A}}`]: '0x9' }, minute: 8 }],
  },
  {
    name: 'GatehookNodeDown',
    when: 'one node does not answer for 1 min: it is down, or reaches no database',
    expr: 'up{job=~"gatehook.*"} == 0',
    for: '1m',
    severity: 'ticket',
    summary: 'A node does not answer; its log has the reason if it does not start.',
    runbook: 'A node is down',
    fires: {
      title: 'one of two',
      series: { [`up{${A}}`]: '1 0x9', [`up{${B}}`]: '1x9' },
      minute: 4,
      labels: node,
    },
    silent: [{ title: 'a restart', series: { [`up{${A}}`]: '1 0 1x9' }, minute: 4 }],
  },
  {
    name: 'GatehookNotReady',
    when: 'a check of `/readyz` fails for 1 min, other than draining',
    expr: 'gatehook_check_failed{check!="draining"} == 1',
    for: '1m',
    severity: 'page',
    summary: 'A node is not ready; the label check names the reason.',
    runbook: 'A node is not ready',
    fires: {
      title: 'a full disk',
      series: { [`gatehook_check_failed{${A},check="writes"}`]: '0 1x9' },
      minute: 4,
      labels: { ...node, check: 'writes' },
    },
    silent: [
      {
        title: 'a node that drains',
        series: {
          [`gatehook_check_failed{${A},check="draining"}`]: '1x9',
          [`gatehook_check_failed{${A},check="writes"}`]: '0x9',
        },
        minute: 5,
      },
    ],
  },
  {
    name: 'GatehookDatabaseDown',
    when: 'the primary of the database does not answer for 1 min',
    expr: 'gatehook_database_available == 0',
    for: '1m',
    severity: 'page',
    summary: 'The primary is away; the label fault of gatehook_database_fault says how.',
    runbook: 'The database is down',
    fires: {
      title: 'a frozen primary',
      series: { [`gatehook_database_available{${A}}`]: '1 0x9' },
      minute: 4,
      labels: node,
    },
    silent: [
      {
        title: 'a failover',
        series: { [`gatehook_database_available{${A}}`]: '1 0 1x9' },
        minute: 4,
      },
    ],
  },
  {
    name: 'GatehookDurabilityLost',
    when: 'no synchronous standby confirms commits for 1 min (`GATEHOOK_DURABILITY=replica`)',
    expr: 'gatehook_durability_lost == 1',
    for: '1m',
    severity: 'page',
    summary: 'No synchronous standby confirms commits; writes are 503.',
    runbook: 'Writes are 503 durability_lost',
    fires: {
      title: 'after a failover',
      series: { [`gatehook_durability_lost{${A}}`]: '0 1x9' },
      minute: 4,
      labels: node,
    },
    silent: [
      { title: 'a standby', series: { [`gatehook_durability_lost{${A}}`]: '0x9' }, minute: 4 },
    ],
  },
  {
    name: 'GatehookLockHeld',
    when: 'statements wait for the lock of a session or process for 1 min',
    expr: 'gatehook_lock_holders > 0',
    for: '1m',
    severity: 'page',
    summary: 'Statements wait for the lock of a session or process; requests that need it are 503.',
    runbook: 'A session holds a lock',
    fires: {
      title: 'a transaction without an end',
      series: { [`gatehook_lock_holders{${A}}`]: '0 1x9' },
      minute: 4,
      labels: node,
    },
    silent: [
      {
        title: 'a long statement',
        series: { [`gatehook_lock_holders{${A}}`]: '0 1 0x9' },
        minute: 4,
      },
    ],
  },
  {
    name: 'GatehookErrors',
    when: 'more than 1 % of the responses to callers are 5xx for 5 min',
    expr:
      'sum by (job) (rate(gatehook_http_requests_total{status=~"5.."}[5m])) / ' +
      'sum by (job) (rate(gatehook_http_requests_total[5m])) > 0.01',
    for: '5m',
    severity: 'page',
    summary: 'More than 1 % of the responses are 5xx.',
    runbook: 'Requests fail',
    fires: {
      title: 'failed requests',
      series: { [requests(200)]: '0+60x20', [requests(500)]: '0+6x20' },
      minute: 15,
      labels: { job: 'gatehook' },
    },
    silent: [
      {
        title: 'failed probes',
        series: {
          [requests(200)]: '0+60x20',
          [`gatehook_http_probes_total{${A},route="/readyz",status="503"}`]: '0+120x20',
        },
        minute: 15,
      },
    ],
  },
  {
    name: 'GatehookSlow',
    when: 'one response in 20 takes more than 0.5 s for 10 min',
    expr:
      'histogram_quantile(0.95, sum by (job, le) ' +
      '(rate(gatehook_http_request_duration_seconds_bucket[5m]))) > 0.5',
    for: '10m',
    severity: 'ticket',
    summary: 'One response in 20 takes more than 0.5 s.',
    runbook: 'Responses are slow',
    fires: {
      title: 'a tenth above 0.5 s',
      series: {
        [bucket('0.5')]: '0+90x30',
        [bucket('1')]: '0+100x30',
        [bucket('+Inf')]: '0+100x30',
      },
      minute: 25,
      labels: { job: 'gatehook' },
    },
    silent: [
      {
        title: 'one of a hundred',
        series: {
          [bucket('0.5')]: '0+99x30',
          [bucket('1')]: '0+100x30',
          [bucket('+Inf')]: '0+100x30',
        },
        minute: 25,
      },
    ],
  },
  {
    name: 'GatehookWritesWait',
    when: 'more than 1,000 transactions wait for 1 min',
    expr: 'gatehook_storage_queued > 1000',
    for: '1m',
    severity: 'page',
    summary: 'More than 1,000 transactions wait for the database.',
    runbook: 'Writes wait',
    fires: {
      title: 'a long queue',
      series: { [`gatehook_storage_queued{${A}}`]: '1500x9' },
      minute: 4,
      labels: node,
    },
    silent: [
      { title: 'a burst', series: { [`gatehook_storage_queued{${A}}`]: '5 1500 5x9' }, minute: 4 },
    ],
  },
  {
    name: 'GatehookPoolFull',
    when: 'transactions wait for a connection for 5 min',
    expr: 'gatehook_storage_connection_waits > 0',
    for: '5m',
    severity: 'ticket',
    summary: 'Transactions wait for a connection of the pool.',
    runbook: 'Writes wait',
    fires: {
      title: 'a small pool',
      series: { [`gatehook_storage_connection_waits{${A}}`]: '3x9' },
      minute: 8,
      labels: node,
    },
    silent: [
      {
        title: 'a burst',
        series: { [`gatehook_storage_connection_waits{${A}}`]: '0 9 0x9' },
        minute: 8,
      },
    ],
  },
  {
    name: 'GatehookDeliveriesLate',
    when: 'a due delivery waits for a node for 5 min, and for no receiver or customer',
    expr: 'gatehook_webhook_late_seconds > 300',
    for: '5m',
    severity: 'page',
    summary: 'A node sends deliveries more than 5 min late.',
    runbook: 'Deliveries are late',
    fires: {
      title: 'a node that is behind',
      series: { [`gatehook_webhook_late_seconds{${A}}`]: '400+60x9' },
      minute: 8,
      labels: node,
    },
    silent: [
      {
        title: "one customer's receiver",
        series: {
          [`gatehook_webhook_late_seconds{${A}}`]: '0x9',
          [`gatehook_webhook_queue_age_seconds{${A}}`]: '2379+60x9',
          [`gatehook_webhook_endpoints{${A},breaker="open"}`]: '1x9',
        },
        minute: 8,
      },
    ],
  },
  {
    name: 'GatehookReceiversFail',
    when: 'more than half of at least four receivers fail or are slow for 15 min',
    expr:
      'sum by (job) (gatehook_webhook_receivers{health=~"slow|failing"}) / ' +
      'sum by (job) (gatehook_webhook_receivers) > 0.5 ' +
      'and sum by (job) (gatehook_webhook_receivers) >= 4',
    for: '15m',
    severity: 'ticket',
    summary: 'Most receivers fail or are slow: the way to them may be broken.',
    runbook: 'Receivers fail',
    fires: {
      title: 'three of four',
      series: {
        [receivers('failing')]: '2x30',
        [receivers('slow')]: '1x30',
        [receivers('healthy')]: '1x30',
      },
      minute: 20,
      labels: { job: 'gatehook' },
    },
    silent: [
      { title: 'the only receiver', series: { [receivers('failing')]: '1x30' }, minute: 20 },
      {
        title: "one customer's receiver",
        series: { [receivers('failing')]: '1x30', [receivers('healthy')]: '9x30' },
        minute: 20,
      },
    ],
  },
  {
    name: 'GatehookMailFails',
    when: 'a mail failed for good in the last hour',
    expr:
      'sum by (job) ' +
      '(increase(gatehook_job_attempts_total{kind=~"mail|stranger_mail",outcome="failed"}[1h])) ' +
      '> 0',
    for: '0m',
    severity: 'ticket',
    summary: 'A mail failed for good; `gatehook doctor` prints the error of its transport.',
    runbook: 'Mail fails',
    fires: {
      title: 'one mail',
      series: { [`gatehook_job_attempts_total{${A},kind="mail",outcome="failed"}`]: '0 0 1x9' },
      minute: 5,
      labels: { job: 'gatehook' },
    },
    silent: [
      {
        title: 'retries',
        series: {
          [`gatehook_job_attempts_total{${A},kind="mail",outcome="retried"}`]: '0+1x9',
          [`gatehook_job_attempts_total{${A},kind="mail",outcome="failed"}`]: '0x9',
        },
        minute: 5,
      },
    ],
  },
  {
    name: 'GatehookJobsFail',
    when: 'more than 20 attempts of jobs failed in 10 min, mail aside',
    expr:
      'sum by (job) (increase(gatehook_job_attempts_total' +
      '{kind!~"mail|stranger_mail",outcome=~"retried|failed"}[10m])) > 20',
    for: '0m',
    severity: 'ticket',
    summary: 'Jobs fail; the console names them with their errors.',
    runbook: 'Jobs fail',
    fires: {
      title: 'jobs that are retried',
      series: { [attempts('retried')]: '0+6x20' },
      minute: 10,
      labels: { job: 'gatehook' },
    },
    silent: [
      { title: 'a few retries', series: { [attempts('retried')]: '0+1x20' }, minute: 15 },
      {
        title: 'mails to strangers that are retried',
        series: {
          [`gatehook_job_attempts_total{${A},kind="stranger_mail",outcome="retried"}`]: '0+6x20',
        },
        minute: 10,
      },
      { title: 'jobs that succeed', series: { [attempts('done')]: '0+600x20' }, minute: 15 },
    ],
  },
  {
    name: 'GatehookJobStuck',
    when: 'a job runs for more than 15 min, unless it creates an index',
    expr: 'max by (job, lane) (gatehook_job_longest_run_seconds{lane!="index"}) > 900',
    for: '1m',
    severity: 'ticket',
    summary: 'A job runs for more than 15 min; the console names it.',
    runbook: 'Jobs fail',
    fires: {
      title: 'a job that waits for another service',
      series: { [`gatehook_job_longest_run_seconds{${A},lane="service"}`]: '0+60x30' },
      minute: 20,
      labels: { job: 'gatehook', lane: 'service' },
    },
    silent: [
      {
        title: 'a job of ten minutes',
        series: { [`gatehook_job_longest_run_seconds{${A},lane="service"}`]: '600x30' },
        minute: 20,
      },
    ],
  },
  ...databaseAlerts,
  ...machineAlerts,
]
