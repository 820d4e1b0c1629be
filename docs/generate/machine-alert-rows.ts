/** The alerts of machines: disk, certificate, backup, clock, event loop. */
import type { Alert } from './alerts.ts'

const A = 'job="gatehook",instance="a"'
const node = { job: 'gatehook', instance: 'a' }

export const machineAlerts: readonly Alert[] = [
  {
    name: 'GatehookDiskLow',
    when: 'less than 20 % of the disk is free for 10 min (SQLite)',
    expr: 'gatehook_disk_free_bytes / gatehook_disk_size_bytes < 0.2',
    for: '10m',
    severity: 'ticket',
    summary: 'Less than 20 % of the disk of the database is free.',
    runbook: 'The disk is full',
    fires: {
      title: 'a tenth',
      series: {
        [`gatehook_disk_free_bytes{${A}}`]: '10x20',
        [`gatehook_disk_size_bytes{${A}}`]: '100x20',
      },
      minute: 15,
      labels: node,
    },
    silent: [
      {
        title: 'half',
        series: {
          [`gatehook_disk_free_bytes{${A}}`]: '50x20',
          [`gatehook_disk_size_bytes{${A}}`]: '100x20',
        },
        minute: 15,
      },
    ],
  },
  {
    name: 'GatehookInodesLow',
    when: 'less than 2 % of the inodes of the disk are free for 10 min (SQLite)',
    expr: 'gatehook_disk_free_inodes / gatehook_disk_inodes < 0.02',
    for: '10m',
    severity: 'ticket',
    summary: 'The disk of the database has few inodes left; without one, no file can be created.',
    runbook: 'The disk has no inode left',
    fires: {
      title: 'a hundredth',
      series: {
        [`gatehook_disk_free_inodes{${A}}`]: '10x20',
        [`gatehook_disk_inodes{${A}}`]: '1000x20',
      },
      minute: 15,
      labels: node,
    },
    silent: [
      {
        title: 'half',
        series: {
          [`gatehook_disk_free_inodes{${A}}`]: '500x20',
          [`gatehook_disk_inodes{${A}}`]: '1000x20',
        },
        minute: 15,
      },
    ],
  },
  {
    name: 'GatehookHeapFull',
    when: 'more than 85 % of the heap of a node is in use for 5 min',
    expr:
      'min_over_time(nodejs_heap_size_used_bytes[2m]) / nodejs_heap_size_limit_bytes > 0.85 ' +
      'and nodejs_heap_size_limit_bytes{job=~"gatehook.*"}',
    for: '5m',
    severity: 'ticket',
    summary: 'The heap of a node is nearly full: Node ends its process beyond the limit.',
    runbook: 'A heap is nearly full',
    fires: {
      title: 'nine tenths',
      series: {
        [`nodejs_heap_size_used_bytes{${A}}`]: '90x20',
        [`nodejs_heap_size_limit_bytes{${A}}`]: '100x20',
      },
      minute: 15,
      labels: node,
    },
    silent: [
      {
        title: 'garbage',
        series: {
          [`nodejs_heap_size_used_bytes{${A}}`]: '90 40 90 40 90 40 90 40 90 40 90 40 90 40 90',
          [`nodejs_heap_size_limit_bytes{${A}}`]: '100x20',
        },
        minute: 12,
      },
    ],
  },
  {
    name: 'GatehookCertificateEnds',
    when: 'the certificate ends in less than 14 days',
    expr: 'gatehook_certificate_end_timestamp_seconds - time() < 14 * 86400',
    for: '10m',
    severity: 'ticket',
    summary: 'The certificate of the server ends in less than 14 days.',
    runbook: 'The certificate ends',
    fires: {
      title: 'in ten days',
      series: { [`gatehook_certificate_end_timestamp_seconds{${A}}`]: '864000x20' },
      minute: 15,
      labels: node,
    },
    silent: [
      {
        title: 'in thirty days',
        series: { [`gatehook_certificate_end_timestamp_seconds{${A}}`]: '2592000x20' },
        minute: 15,
      },
    ],
  },
  {
    name: 'GatehookCertificateInvalid',
    when: 'the files of the certificate cannot be loaded for 5 min',
    expr: 'gatehook_tls_files_invalid == 1',
    for: '5m',
    severity: 'ticket',
    summary: 'A node cannot load the files of its certificate; its next start would fail.',
    runbook: 'The certificate cannot be loaded',
    fires: {
      title: 'a key of another certificate',
      series: { [`gatehook_tls_files_invalid{${A}}`]: '0 1x9' },
      minute: 8,
      labels: node,
    },
    silent: [
      {
        title: 'a moment between both files',
        series: { [`gatehook_tls_files_invalid{${A}}`]: '0 1 0x9' },
        minute: 8,
      },
    ],
  },
  {
    name: 'GatehookLogFails',
    when: 'lines of the log are not written for 1 min',
    expr: 'gatehook_log_failing == 1',
    for: '1m',
    severity: 'ticket',
    summary: 'The log of a node is not written; beyond 32 MiB its lines are dropped.',
    runbook: 'The log is not written',
    fires: {
      title: 'a full disk',
      series: { [`gatehook_log_failing{${A}}`]: '0 1x9' },
      minute: 4,
      labels: node,
    },
    silent: [
      {
        title: 'a reader that restarts',
        series: { [`gatehook_log_failing{${A}}`]: '0 1 0x9' },
        minute: 4,
      },
    ],
  },
  {
    name: 'GatehookFilesLow',
    when: 'a node has more than 90 % of the files and connections open that it may for 5 min',
    expr: 'process_open_fds{job=~"gatehook.*"} / process_max_fds{job=~"gatehook.*"} > 0.9',
    for: '5m',
    severity: 'ticket',
    summary: 'A node may open few further files and connections.',
    runbook: 'Connections are refused',
    fires: {
      title: 'a low limit',
      series: {
        [`process_open_fds{${A}}`]: '950x9',
        [`process_max_fds{${A}}`]: '1024x9',
      },
      minute: 8,
      labels: node,
    },
    silent: [
      {
        title: 'half',
        series: {
          [`process_open_fds{${A}}`]: '512x9',
          [`process_max_fds{${A}}`]: '1024x9',
        },
        minute: 8,
      },
    ],
  },
  {
    name: 'GatehookSignInsSlow',
    when: 'a password hash takes more than 1 s on average for 5 min',
    expr:
      'rate(gatehook_password_hash_seconds_total[5m]) / ' +
      'rate(gatehook_password_hashes_total[5m]) > 1',
    for: '5m',
    severity: 'ticket',
    summary: 'Password hashes lack the CPU: sign-ins are slow.',
    runbook: 'Sign-ins are slow',
    fires: {
      title: 'two seconds each',
      series: {
        [`gatehook_password_hash_seconds_total{${A}}`]: '0+120x20',
        [`gatehook_password_hashes_total{${A}}`]: '0+60x20',
      },
      minute: 15,
      labels: node,
    },
    silent: [
      {
        title: 'many',
        series: {
          [`gatehook_password_hash_seconds_total{${A}}`]: '0+30x20',
          [`gatehook_password_hashes_total{${A}}`]: '0+1200x20',
        },
        minute: 15,
      },
      {
        title: 'none',
        series: {
          [`gatehook_password_hash_seconds_total{${A}}`]: '9x20',
          [`gatehook_password_hashes_total{${A}}`]: '4x20',
        },
        minute: 15,
      },
    ],
  },
  {
    name: 'GatehookBackupOld',
    when: 'the last backup is older than 26 h',
    expr: 'max by (job) (gatehook_backup_age_seconds) > 26 * 3600',
    for: '10m',
    severity: 'ticket',
    summary: 'The last backup is older than 26 h.',
    runbook: 'The backup is old',
    fires: {
      title: 'two days',
      series: { [`gatehook_backup_age_seconds{${A}}`]: '172800+60x20' },
      minute: 15,
      labels: { job: 'gatehook' },
    },
    silent: [
      {
        title: 'a day',
        series: { [`gatehook_backup_age_seconds{${A}}`]: '86400+60x20' },
        minute: 15,
      },
    ],
  },
  {
    name: 'GatehookClockWrong',
    when: 'the clocks of node and database differ by more than 2 s for 5 min',
    expr: 'abs(gatehook_clock_difference_seconds) > 2',
    for: '5m',
    severity: 'ticket',
    summary: 'The clock of a node differs from that of the database by more than 2 s.',
    runbook: 'The clock is wrong',
    fires: {
      title: 'behind',
      series: { [`gatehook_clock_difference_seconds{${A}}`]: '-3x9' },
      minute: 8,
      labels: node,
    },
    silent: [
      {
        title: 'half a second',
        series: { [`gatehook_clock_difference_seconds{${A}}`]: '0.5x9' },
        minute: 8,
      },
    ],
  },
  {
    name: 'GatehookEventLoopBusy',
    when: 'the event loop of a node is busy for more than 90 % of 10 min',
    expr: 'rate(nodejs_eventloop_active_seconds_total{job=~"gatehook.*"}[5m]) > 0.9',
    for: '10m',
    severity: 'ticket',
    summary: 'The event loop of a node is busy for more than 90 % of the time.',
    runbook: 'Responses are slow',
    fires: {
      title: 'saturated',
      series: { [`nodejs_eventloop_active_seconds_total{${A}}`]: '0+58x30' },
      minute: 20,
      labels: node,
    },
    silent: [
      {
        title: 'half busy',
        series: { [`nodejs_eventloop_active_seconds_total{${A}}`]: '0+30x30' },
        minute: 20,
      },
    ],
  },
  {
    name: 'GatehookChoresFail',
    when: 'a purge failed more than three times in the last hour',
    expr: 'sum by (job, chore) (increase(gatehook_chore_runs_total{outcome="failed"}[1h])) > 3',
    for: '0m',
    severity: 'ticket',
    summary: 'A purge fails again and again; the log has its error.',
    runbook: 'A purge fails',
    fires: {
      title: 'each minute',
      series: { [`gatehook_chore_runs_total{${A},chore="quota",outcome="failed"}`]: '0+1x20' },
      minute: 15,
      labels: { job: 'gatehook', chore: 'quota' },
    },
    silent: [
      {
        title: 'once',
        series: { [`gatehook_chore_runs_total{${A},chore="quota",outcome="failed"}`]: '0 1x20' },
        minute: 15,
      },
    ],
  },
]
