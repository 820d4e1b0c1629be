/**
 * Whether the disk of a SQLite database has inodes left. Without one, no file can be created
 * although there is space: a backup, a log of the database, a monitoring file.
 */
import { statfsSync } from 'node:fs'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

interface Inodes {
  readonly free: number
  readonly total: number
}

/** Undefined without a folder, and for a file system that does not count them. */
export function readInodes(folder: string | undefined): Inodes | undefined {
  if (folder === undefined) return undefined
  try {
    const { ffree, files } = statfsSync(folder)
    return files > 0 ? { free: ffree, total: files } : undefined
  } catch {
    return undefined
  }
}

/** Fewer are named: the next files of other programs take them. */
const FREE_MIN = 100
/** The inodes are counted again after this time: probes request the warning each second. */
const VALID_MS = 5_000

interface InodeCheck {
  /** A warning for `/readyz`; operators read the folder. */
  readonly warning: HealthCheck
  readonly metrics: readonly Metric[]
}

interface InodeOptions {
  /** The folder of the database; undefined on PostgreSQL. */
  readonly folder: string | undefined
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
  readonly read?: () => Inodes | undefined
}

const FEW = 'The disk of the database has hardly an inode left: no file can be created soon.'

export function createInodeCheck(options: InodeOptions): InodeCheck {
  const { folder, clock, log, read = () => readInodes(folder) } = options
  let last: { readonly atMs: number; readonly detail: string | undefined } | undefined
  const describe = (): string | undefined => {
    const inodes = read()
    if (!inodes || inodes.free >= FREE_MIN) return undefined
    return (
      `The disk of ${folder} has ${inodes.free} of its ${inodes.total} inodes left (df -i): ` +
      'backups, logs and the next start cannot create files. Remove small files from it, or ' +
      'move the folder to a larger disk.'
    )
  }
  const samplesOf = (value: number | undefined) => (value === undefined ? [] : [{ value }])
  return {
    warning() {
      if (!last || clock.elapsedMs() - last.atMs >= VALID_MS) {
        const detail = describe()
        if (detail && !last?.detail) log.warn(detail)
        last = { atMs: clock.elapsedMs(), detail }
      }
      return last.detail === undefined ? undefined : { message: FEW, detail: last.detail }
    },
    metrics: [
      {
        name: 'gatehook_disk_free_inodes',
        help: 'Free inodes of the disk with the database; SQLite only.',
        type: 'gauge',
        read: () => samplesOf(read()?.free),
      },
      {
        name: 'gatehook_disk_inodes',
        help: 'Inodes of the disk with the database; SQLite only.',
        type: 'gauge',
        read: () => samplesOf(read()?.total),
      },
    ],
  }
}
