/** Checks of `gatehook doctor` on what ends unless an operator acts. */

import type { Clock } from '../kernel/clock.ts'
import { isoTime } from '../kernel/time.ts'
import {
  BACKUP_AGE_MAX_MS,
  CERTIFICATE_LEFT_MIN_MS,
  DISK_FREE_MIN,
  readCertificateEnd,
  readDiskSpace,
} from '../operate/system/machine-facts.ts'
import { findTlsFault } from '../operate/system/tls-files.ts'
import { type Config, tlsFilesOf } from '../platform/config/config.ts'
import { dataFolder } from '../platform/config/environment.ts'
import { readBackupState } from '../platform/storage/backup-state.ts'
import type { Database } from '../platform/storage/database.ts'
import { type CheckResult, fail, ok, warn } from './doctor-checks.ts'

const DAY_MS = 86_400_000

/** Checks the free space of the disk with a SQLite database. */
export function checkDisk(config: Config): CheckResult | undefined {
  const space = readDiskSpace(dataFolder(config))
  if (!space) return undefined
  if (space.isNetwork) {
    const remedy = 'Move the folder to a local disk: docs/guides/operations.md, "network disk".'
    return fail('a network file system, which lacks the locks that SQLite needs', remedy)
  }
  const share = space.freeBytes / space.sizeBytes
  const detail = `${Math.floor(share * 100)} % free`
  const hint = 'Free space or enlarge the volume: writes are 503 when the disk is full.'
  return share < DISK_FREE_MIN ? warn(detail, hint) : ok(detail)
}

/** Checks the days that the certificate of GATEHOOK_TLS_CERT has left. */
export function checkCertificate(config: Config, clock: Clock): CheckResult | undefined {
  const files = tlsFilesOf(config)
  if (!files || config.tlsCert === null) return undefined
  const end = readCertificateEnd(config.tlsCert)
  const hint = 'Replace the files; nodes load them within 2 s.'
  if (end === undefined) return fail(`${config.tlsCert} is not a certificate`, hint)
  const leftMs = end - clock.now()
  const detail = `ends in ${Math.floor(leftMs / DAY_MS)} days, ${isoTime(end)}`
  if (leftMs <= 0) return fail(`ended at ${isoTime(end)}`, hint)
  const fault = findTlsFault(files)
  if (fault !== undefined) return fail(fault, hint)
  return leftMs < CERTIFICATE_LEFT_MIN_MS ? warn(detail, hint) : ok(detail)
}

/** Checks the age of the last backup that `gatehook backup` wrote or recorded. */
export async function checkBackup(db: Database, clock: Clock): Promise<CheckResult> {
  const { since, lastAt } = await readBackupState(db)
  if (since === undefined) return ok('none is recorded; after pg_dump: gatehook backup --record')
  const isLate = clock.now() - since > BACKUP_AGE_MAX_MS
  const detail = lastAt === undefined ? 'none yet' : `the last at ${isoTime(lastAt)}`
  return isLate ? warn(detail, 'Run gatehook backup each night.') : ok(detail)
}
