/** The alerts of PostgreSQL: its WAL, commits, standbys. */
import type { Alert } from './alerts.ts'

const A = 'job="gatehook",instance="a"'
const node = { job: 'gatehook', instance: 'a' }

export const databaseAlerts: readonly Alert[] = [
  {
    name: 'GatehookSlotForgotten',
    when: 'a replication slot that no standby reads keeps more than 1 GiB of WAL for 10 min',
    expr: 'gatehook_replication_slot_bytes{active="false"} > 1073741824',
    for: '10m',
    severity: 'ticket',
    summary: 'A replication slot that no standby reads fills the disk of the database.',
    runbook: 'The disk is full',
    fires: {
      title: 'a standby that is gone',
      series: { [`gatehook_replication_slot_bytes{${A},active="false",slot="old"}`]: '2e9x20' },
      minute: 15,
      labels: { ...node, active: 'false', slot: 'old' },
    },
    silent: [
      {
        title: 'a standby that is behind',
        series: { [`gatehook_replication_slot_bytes{${A},active="true",slot="new"}`]: '2e9x20' },
        minute: 15,
      },
    ],
  },
  {
    name: 'GatehookArchiveFails',
    when: 'the `archive_command` of PostgreSQL fails, hangs or is absent for 5 min',
    expr: 'gatehook_wal_archive_failing == 1',
    for: '5m',
    severity: 'ticket',
    summary: 'The archive of the database does not get its WAL, which fills the disk.',
    runbook: 'The disk is full',
    fires: {
      title: 'a command that fails',
      series: { [`gatehook_wal_archive_failing{${A}}`]: '1x20' },
      minute: 8,
      labels: node,
    },
    silent: [
      {
        title: 'a failure that ends',
        series: { [`gatehook_wal_archive_failing{${A}}`]: '1x3 0x16' },
        minute: 8,
      },
    ],
  },
  {
    name: 'GatehookCommitsSlow',
    when: 'a commit takes more than 0.1 s for 10 min',
    expr: 'gatehook_storage_commit_seconds > 0.1',
    for: '10m',
    severity: 'ticket',
    summary:
      'Commits of the database are slow; the warning commits names the standby, or the disk.',
    runbook: 'Commits are slow',
    fires: {
      title: 'a slow standby',
      series: { [`gatehook_storage_commit_seconds{${A}}`]: '0.5x20' },
      minute: 15,
      labels: node,
    },
    silent: [
      {
        title: 'a burst',
        series: { [`gatehook_storage_commit_seconds{${A}}`]: '0.01 0.5 0.01x20' },
        minute: 15,
      },
    ],
  },
  {
    name: 'GatehookReplicationLag',
    when: 'a standby is more than 30 s behind for 5 min',
    expr: 'max by (job, standby) (gatehook_replication_lag_seconds) > 30',
    for: '5m',
    severity: 'ticket',
    summary: 'A standby of the database is more than 30 s behind.',
    runbook: 'A standby is behind',
    fires: {
      title: 'a slow standby',
      series: { [`gatehook_replication_lag_seconds{${A},standby="s1"}`]: '40+10x9' },
      minute: 8,
      labels: { job: 'gatehook', standby: 's1' },
    },
    silent: [
      {
        title: 'a second',
        series: { [`gatehook_replication_lag_seconds{${A},standby="s1"}`]: '1x9' },
        minute: 8,
      },
    ],
  },
  {
    name: 'GatehookPromoted',
    when: 'a standby was promoted in the last 15 min',
    expr: 'max by (job) (increase(gatehook_database_promotions_total[15m])) > 0',
    for: '0m',
    severity: 'ticket',
    summary: 'A standby of the database was promoted; the audit trail lists what it lacks.',
    runbook: 'The database is down',
    fires: {
      title: 'a promotion',
      series: { [`gatehook_database_promotions_total{${A}}`]: '0 0 1x9' },
      minute: 6,
      labels: { job: 'gatehook' },
    },
    silent: [
      { title: 'none', series: { [`gatehook_database_promotions_total{${A}}`]: '1x9' }, minute: 6 },
    ],
  },
]
