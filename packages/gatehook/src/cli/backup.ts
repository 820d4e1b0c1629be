/** `gatehook backup` and `gatehook restore`: an installation in one file (§12.3). */
import { resolve } from 'node:path'
import { openExistingVault } from '../assembly/secrets.ts'
import { type Config, ConfigError, databaseAddress, databaseTarget } from '../config/config.ts'
import { databaseExists, readConfig, secretFile } from '../config/environment.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { isoTime } from '../kernel/time.ts'
import { StorageError } from '../storage/database.ts'
import { openDatabase } from '../storage/open.ts'
import {
  type BackupManifest,
  backupSqlite,
  restoreSqlite,
  totalRows,
  wasServed,
} from '../storage/sqlite-backup.ts'
import type { CommandSpec, Input } from './command.ts'
import { CommandError } from './errors.ts'
import { bold, formatCount, yellow } from './output.ts'
import { packageVersion } from './own-package.ts'
import { pgDumpAdvice } from './postgres-tools.ts'
import { createProgress } from './progress.ts'

const secretPlace = (config: Config): string => secretFile(config) ?? 'GATEHOOK_SECRET_KEY'

const contents = (manifest: BackupManifest): string =>
  `${formatCount(totalRows(manifest))} rows in ${Object.keys(manifest.tables).length} tables`

/** Reports a `StorageError` as a failed command: the configuration is not at fault. */
export async function asCommandError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StorageError) throw new CommandError(error.message)
    throw error
  }
}

async function runBackup({ args: [file], flags, out }: Input): Promise<undefined> {
  const config = readConfig(flags)
  const address = databaseAddress(config.databaseUrl)
  if (address.kind === 'postgres') {
    throw new CommandError(await pgDumpAdvice('dump', databaseTarget(config), file!))
  }
  if (!databaseExists(config)) {
    throw new CommandError(`There is no database at ${resolve(address.file)}.`)
  }
  const database = resolve(address.file)
  const isUsed = await asCommandError(async () => wasServed(database))
  if (!isUsed) {
    throw new CommandError(
      `No service has ever used ${database}. Name the database of the service: ` +
        'GATEHOOK_DATABASE_URL or --database-url sqlite:FILE',
    )
  }
  const manifest = await asCommandError(() =>
    backupSqlite({
      database,
      file: file!,
      createdAt: isoTime(wallClock.now()),
      release: packageVersion,
      onProgress: createProgress(out, wallClock),
    }),
  )
  const secret = secretPlace(config)
  const { newest_event: event } = manifest
  const newest = event ? `${event.id} ${event.type} of ${event.created_at}` : 'none'
  out.result({ file: resolve(file!), database, ...manifest, master_secret: 'not included' }, () =>
    [
      `${bold(resolve(file!))} holds ${contents(manifest)} of ${database}.`,
      `The newest event is ${newest}.`,
      `It holds no master secret. Store ${secret} elsewhere: without it Gatehook cannot decrypt`,
      'the webhook secrets, signing keys and second factors in this backup.',
    ].join('\n'),
  )
  return
}

/** Returns a sentence when the master secret of this machine does not fit the database. */
async function secretProblem(config: Config): Promise<string | undefined> {
  const log = createLog({ level: 'silent' })
  const db = await openDatabase(databaseTarget(config), { log, clock: wallClock })
  try {
    await openExistingVault(db, config)
    return undefined
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  } finally {
    await db.close()
  }
}

async function runRestore({ args: [file], flags, out }: Input): Promise<undefined> {
  const config = readConfig(flags)
  const address = databaseAddress(config.databaseUrl)
  if (address.kind === 'postgres') {
    throw new CommandError(await pgDumpAdvice('restore', databaseTarget(config), file!))
  }
  const onProgress = createProgress(out, wallClock)
  const manifest = await asCommandError(() =>
    restoreSqlite({ file: file!, database: address.file, onProgress }),
  )
  const problem = await secretProblem(config)
  const { created_at, release, bytes, tables } = manifest
  const result = { database: resolve(address.file), created_at, release, bytes, tables }
  out.result({ ...result, master_secret: problem ?? 'fits' }, () =>
    [
      `${bold(resolve(address.file))} holds ${contents(manifest)}, as of ${created_at}.`,
      problem === undefined
        ? 'The master secret fits. Start the service: gatehook start'
        : yellow(`Before the start: ${problem}`),
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
    'command and checks the version of the client.',
  config: ['databaseUrl'],
  examples: [['gatehook backup /backups/2027-01-31.gatehook', 'each night']],
  run: runBackup,
}

export const restore: CommandSpec = {
  name: 'restore <FILE>',
  summary: 'create a database from a backup (SQLite)',
  description:
    'Verifies checksum, pages and row counts, then creates the database. Refuses a target that ' +
    'holds an installation. Put the master secret of the backup in place before the start.',
  config: ['databaseUrl'],
  examples: [['gatehook restore /backups/2027-01-31.gatehook', 'on a new machine']],
  run: runRestore,
}
