/** An archive of WAL that fails: the server keeps its WAL until its disk is full (§18.1). */
import { isoTime } from '../../kernel/time.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import { parseArchive, selectArchive, type WalArchive } from '../../platform/storage/wal-archive.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

/** An archive that is behind by more hangs, or is too slow for the writes. */
const BEHIND_BYTES = 2 ** 30

const MESSAGE = 'The database keeps WAL that its archive does not get.'
const UNTIL_FULL = 'until its disk is full'
const NEVER_DELETE = 'Delete nothing in pg_wal.'

export interface ArchiveWatch {
  readonly polled: readonly PolledValue[]
  readonly warning: HealthCheck
  /** Says why WAL fills the disk; undefined: not by its archive. */
  readonly describe: () => string | undefined
  readonly metrics: readonly Metric[]
}

export function createArchiveWatch(db: Pick<Database, 'name'>): ArchiveWatch {
  let last: WalArchive | undefined
  const select = selectArchive(db)
  const receive: PolledValue['receive'] = (value) => {
    last = parseArchive(value)
  }
  const describe = () => last && describeArchive(last)
  return {
    polled: select ? [{ select: () => select, receive }] : [],
    describe,
    warning() {
      const detail = describe()
      return detail && { message: MESSAGE, detail }
    },
    metrics: [
      {
        name: 'gatehook_wal_archive_failing',
        help: '1 while the archive of PostgreSQL does not get its WAL; with archive_mode only.',
        type: 'gauge',
        read: () => (last ? [{ value: describe() === undefined ? 0 : 1 }] : []),
      },
      {
        name: 'gatehook_wal_archive_pending_bytes',
        help: 'WAL that PostgreSQL keeps since its archive has not got it; with archive_mode only.',
        type: 'gauge',
        read: () => (typeof last?.bytes === 'number' ? [{ value: last.bytes }] : []),
      },
    ],
  }
}

function describeArchive(archive: WalArchive): string | undefined {
  const { isConfigured, isFailing, failures, failed, failedMs, archivedMs, bytes } = archive
  const size = bytes === null ? 'its WAL' : `${Math.round(bytes / 2 ** 20)} MiB of WAL`
  if (!isConfigured) {
    return (
      `archive_mode is on without an archive_command: the server keeps all WAL ${UNTIL_FULL}. ` +
      `Set the command. ${NEVER_DELETE}`
    )
  }
  const since = archivedMs === null ? '' : ` since ${isoTime(archivedMs)}`
  if (isFailing && failed !== null && failedMs !== null) {
    return (
      `The archive_command of the database fails${since}, ${failures} times, for ${failed} last ` +
      `at ${isoTime(failedMs)}: the server keeps ${size} ${UNTIL_FULL}. The log of the server ` +
      `has the reason: repair the command, or the place of the archive. ${NEVER_DELETE}`
    )
  }
  if (bytes === null || bytes < BEHIND_BYTES) return undefined
  return (
    `The archive of the database has got nothing${since}, or is slower than the writes: the ` +
    `server keeps ${size} ${UNTIL_FULL}. End an archive_command that hangs, or make the archive ` +
    `faster. ${NEVER_DELETE}`
  )
}
