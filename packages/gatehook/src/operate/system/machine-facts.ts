/**
 * What ends unless an operator acts: space on the disk, the certificate, the last backup. Metrics,
 * attention, `/readyz` and `gatehook doctor` read the same facts.
 */

import { X509Certificate } from 'node:crypto'
import { readFileSync, statfsSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { isoTime } from '../../kernel/time.ts'
import { readBackupState } from '../../platform/storage/backup-state.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

export interface DiskSpace {
  readonly freeBytes: number
  readonly sizeBytes: number
  /** Whether it is a network file system. */
  readonly isNetwork: boolean
}

/** Linux's types of NFS, SMB (three), AFS, Ceph and 9P. */
const NETWORK_TYPES = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x00c36400, 0x01021997,
])

/** The share of the disk below which free space is low. */
export const DISK_FREE_MIN = 0.2
/** A certificate ends soon before this time. */
export const CERTIFICATE_LEFT_MIN_MS = 14 * 86_400_000
/** An older backup is late: one a day, with two hours for its duration. */
export const BACKUP_AGE_MAX_MS = 26 * 3_600_000

/** Returns the space of the disk of a folder; undefined without one, and if it is not readable. */
export function readDiskSpace(folder: string | undefined): DiskSpace | undefined {
  if (folder === undefined) return undefined
  try {
    const { type, bsize, blocks, bavail } = statfsSync(folder)
    const isNetwork = NETWORK_TYPES.has(type >>> 0)
    return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize, isNetwork }
  } catch {
    return undefined
  }
}

/** Returns the end of a certificate (PEM), in epoch milliseconds; undefined if it is unreadable. */
export function readCertificateEnd(file: string | undefined): number | undefined {
  if (file === undefined) return undefined
  try {
    return Date.parse(new X509Certificate(readFileSync(file)).validTo)
  } catch {
    return undefined
  }
}

interface CertificateWarningOptions {
  /** Undefined: another program terminates TLS. */
  readonly file: string | undefined
  readonly clock: Pick<Clock, 'now' | 'elapsedMs'>
  readonly log: Log
}

/** A certificate is read again after this time: probes request the warning each second. */
const CERTIFICATE_VALID_MS = 10_000

/** Returns a warning for `/readyz` while the certificate ends soon, which the log has once. */
export function certificateWarning({ file, clock, log }: CertificateWarningOptions): HealthCheck {
  let last: { readonly atMs: number; readonly sentence: string | undefined } | undefined
  const describe = (): string | undefined => {
    const end = readCertificateEnd(file)
    if (end === undefined || end - clock.now() >= CERTIFICATE_LEFT_MIN_MS) return undefined
    return (
      `The certificate of the server ${end <= clock.now() ? 'ended' : 'ends'} at ` +
      `${isoTime(end)}. Replace its files; nodes load them within 2 s.`
    )
  }
  return () => {
    if (!last || clock.elapsedMs() - last.atMs >= CERTIFICATE_VALID_MS) {
      const sentence = describe()
      if (sentence && sentence !== last?.sentence) log.warn({ cert: file }, sentence)
      last = { atMs: clock.elapsedMs(), sentence }
    }
    return last.sentence
  }
}

interface MachineMetricSources {
  readonly db: Parameters<typeof readBackupState>[0]
  readonly clock: Pick<Clock, 'now'>
  /** The folder of the database; undefined on PostgreSQL. */
  readonly folder: string | undefined
  readonly certFile: string | undefined
}

export function machineMetrics(sources: MachineMetricSources): readonly Metric[] {
  const { db, clock, folder, certFile } = sources
  const samplesOf = (value: number | undefined) => (value === undefined ? [] : [{ value }])
  return [
    {
      name: 'gatehook_disk_free_bytes',
      help: 'Free space of the disk with the database, for this user; SQLite only.',
      type: 'gauge',
      read: () => samplesOf(readDiskSpace(folder)?.freeBytes),
    },
    {
      name: 'gatehook_disk_size_bytes',
      help: 'Size of the disk with the database; SQLite only.',
      type: 'gauge',
      read: () => samplesOf(readDiskSpace(folder)?.sizeBytes),
    },
    {
      name: 'gatehook_certificate_end_timestamp_seconds',
      help: 'Unix time at which the certificate of the server ends; only with GATEHOOK_TLS_CERT.',
      type: 'gauge',
      read() {
        const end = readCertificateEnd(certFile)
        return samplesOf(end === undefined ? undefined : end / 1000)
      },
    },
    {
      name: 'gatehook_backup_age_seconds',
      help:
        'Time since the last backup of `gatehook backup`, on SQLite since the creation of the ' +
        'database without one.',
      type: 'gauge',
      async read() {
        const { since } = await readBackupState(db)
        return samplesOf(since === undefined ? undefined : (clock.now() - since) / 1000)
      },
    },
    {
      name: 'nodejs_eventloop_active_seconds_total',
      help: 'Time in which the event loop of the main thread was busy.',
      type: 'counter',
      read: () => [{ value: performance.eventLoopUtilization().active / 1000 }],
    },
  ]
}
