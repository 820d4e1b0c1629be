/** `gatehook backup`: an installation in one file (§12.3). */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { findNewestEvent } from '../history/events/store.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { isoTime } from '../kernel/time.ts'
import type { Config } from '../platform/config/config.ts'
import { databaseExists, secretFile } from '../platform/config/environment.ts'
import { recordBackup } from '../platform/storage/backup-state.ts'
import { StorageError } from '../platform/storage/database.ts'
import {
  type BackupManifest,
  backupSqlite,
  totalRows,
  wasServed,
} from '../platform/storage/sqlite-backup.ts'
import { isDiskFull } from '../platform/storage/sqlite-errors.ts'
import { type CommandSpec, configOf, DIR_OPTION, type Input } from './command.ts'
import { CommandError } from './errors.ts'
import { withDatabase } from './installation.ts'
import { bold, countRows } from './output.ts'
import { packageVersion } from './own-package.ts'
import { requireSqliteFile } from './postgres-tools.ts'
import { createProgress } from './progress.ts'

const secretPlace = (config: Config): string => secretFile(config) ?? 'GATEHOOK_SECRET_KEY'

/** `1,200 rows in 53 tables` */
export const contentsOf = (manifest: BackupManifest): string =>
  `${countRows(totalRows(manifest))} in ${Object.keys(manifest.tables).length} tables`

/** Reports a `StorageError` as a failed command: the configuration is not at fault. */
export async function asCommandError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StorageError) throw new CommandError(error.message)
    throw error
  }
}

/** Reports also that the disk of a file is full. */
const reportFullDisk = <T>(file: string, work: () => Promise<T>): Promise<T> =>
  asCommandError(work).catch((error: unknown) => {
    const isFull = isDiskFull(error) || (error as NodeJS.ErrnoException).code === 'ENOSPC'
    if (!isFull) throw error
    throw new CommandError(
      `The disk of ${resolve(file)} is full. Free space there, or name a file elsewhere.`,
    )
  })

/** Stores the time of a backup, which `gatehook_backup_age_seconds` and `doctor` read. */
const noteBackup = (config: Config, at: number): Promise<void> =>
  withDatabase(config, createLog({ level: 'silent' }), (db) =>
    db.write((tx) => recordBackup(tx, at)),
  )

/** Records a backup of another tool. */
async function runRecord(config: Config, { args: [file], out }: Input): Promise<undefined> {
  const stat = statSync(file!, { throwIfNoEntry: false })
  if (!stat || (stat.isFile() && stat.size === 0)) {
    throw new CommandError(`There is no backup at ${resolve(file!)}.`)
  }
  const atMs = Math.floor(stat.mtimeMs)
  await asCommandError(() => noteBackup(config, atMs))
  const at = isoTime(atMs)
  out.result({ file: resolve(file!), recorded_at: at }, () => `Recorded the backup of ${at}.`)
  return
}

async function runBackup(input: Input): Promise<undefined> {
  const { args, options, out } = input
  const [file] = args
  const config = configOf(input)
  if (options.record === true) return runRecord(config, input)
  const database = resolve(await requireSqliteFile(config, 'dump', file!))
  if (!databaseExists(config)) throw new CommandError(`There is no database at ${database}.`)
  const isUsed = await asCommandError(async () => wasServed(database))
  if (!isUsed) {
    throw new CommandError(
      `No service has ever used ${database}. Name the database of the service: ` +
        'GATEHOOK_DATABASE_URL or --database-url sqlite:FILE',
    )
  }
  const manifest = await reportFullDisk(file!, () =>
    backupSqlite({
      database,
      file: file!,
      createdAt: isoTime(wallClock.now()),
      release: packageVersion,
      findNewestEvent,
      onProgress: createProgress(out, wallClock),
    }),
  )
  // A database that was moved accepts no write; its backup is complete all the same.
  await noteBackup(config, wallClock.now()).catch((error: Error) => out.progress(error.message))
  const secret = secretPlace(config)
  const { newest_event: event } = manifest
  const newest = event ? `${event.id} ${event.type} of ${event.created_at}` : 'none'
  out.result({ file: resolve(file!), database, ...manifest, master_secret: 'not included' }, () =>
    [
      `${bold(resolve(file!))} holds ${contentsOf(manifest)} of ${database}.`,
      `The newest event is ${newest}.`,
      `It holds no master secret. Store ${secret} elsewhere: without it Gatehook cannot decrypt`,
      'the webhook secrets, signing keys and second factors in this backup.',
    ].join('\n'),
  )
  return
}

export const backup: CommandSpec = {
  name: 'backup <FILE>',
  summary: 'write a backup while the service runs (SQLite)',
  description:
    'Writes a consistent, compressed backup with checksums into a new file. The service may run ' +
    'and write meanwhile. A backup holds no master secret. On PostgreSQL, prints the pg_dump ' +
    'command and checks the version of the client. The time of the last backup is a metric.',
  options: [
    DIR_OPTION,
    ['--record', 'record FILE, the backup of another tool, instead of writing one'],
  ],
  config: ['databaseUrl'],
  examples: [
    ['gatehook backup /backups/2027-01-31.gatehook', 'each night'],
    ['gatehook backup --record /backups/2027-01-31.dump', 'after pg_dump'],
  ],
  run: runBackup,
}
