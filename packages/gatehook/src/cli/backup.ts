/** `gatehook backup`: an installation in one file (§12.3). */
import { resolve } from 'node:path'
import { type Config, databaseAddress, databaseTarget } from '../config/config.ts'
import { databaseExists, readConfig, secretFile } from '../config/environment.ts'
import { wallClock } from '../kernel/clock.ts'
import { isoTime } from '../kernel/time.ts'
import { StorageError } from '../storage/database.ts'
import {
  type BackupManifest,
  backupSqlite,
  totalRows,
  wasServed,
} from '../storage/sqlite-backup.ts'
import type { CommandSpec, Input } from './command.ts'
import { CommandError } from './errors.ts'
import { bold, formatCount } from './output.ts'
import { packageVersion } from './own-package.ts'
import { pgDumpAdvice } from './postgres-tools.ts'
import { createProgress } from './progress.ts'

const secretPlace = (config: Config): string => secretFile(config) ?? 'GATEHOOK_SECRET_KEY'

/** `1,200 rows in 53 tables` */
export const contentsOf = (manifest: BackupManifest): string =>
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
    'command and checks the version of the client.',
  config: ['databaseUrl'],
  examples: [['gatehook backup /backups/2027-01-31.gatehook', 'each night']],
  run: runBackup,
}
