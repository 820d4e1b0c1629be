/** `gatehook restore …`: creates a database from a backup, and ends its quarantine (§18.5). */
import { resolve } from 'node:path'
import { openExistingVault } from '../assembly/secrets.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import type { RestoreJson } from '../operate/restore/operations.ts'
import { type Config, ConfigError, databaseTarget } from '../platform/config/config.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { restoreSqlite } from '../platform/storage/sqlite-backup.ts'
import { administration } from './api.ts'
import { expectedHashOf } from './arguments.ts'
import { asCommandError, contentsOf } from './backup.ts'
import { type CommandFamily, type CommandSpec, configOf, type Input } from './command.ts'
import { EXIT, UsageError } from './errors.ts'
import { installationOptions } from './installation.ts'
import { alarm, bold, countRows, formatCount, yellow } from './output.ts'
import { requireSqliteFile } from './postgres-tools.ts'
import { createProgress } from './progress.ts'
import { type AppliedRevocations, applyRevocations } from './revocations.ts'

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

async function runRestore(input: Input): Promise<undefined> {
  const {
    args: [file],
    out,
  } = input
  const config = configOf(input)
  const database = await requireSqliteFile(config, 'restore', file!)
  const onProgress = createProgress(out, wallClock)
  const manifest = await asCommandError(() => restoreSqlite({ file: file!, database, onProgress }))
  const problem = await secretProblem(config)
  const { created_at, release, bytes, tables } = manifest
  const result = { database: resolve(database), created_at, release, bytes, tables }
  out.result({ ...result, master_secret: problem ?? 'fits' }, () =>
    [
      `${bold(resolve(database))} holds ${contentsOf(manifest)}, as of ${created_at}.`,
      problem === undefined
        ? 'The master secret fits. Start the service: gatehook start'
        : yellow(`Before the start: ${problem}`),
    ].join('\n'),
  )
  return
}

/** Creates a database, or applies revocations to one. */
async function run(input: Input): Promise<number | undefined> {
  const { args, options } = input
  const revocations = options.revocations as string | undefined
  if ((args[0] === undefined) === (revocations === undefined)) {
    throw new UsageError('Name a backup, or an export of the audit trail: --revocations FILE')
  }
  if (revocations === undefined && options.expect !== undefined) {
    throw new UsageError('--expect is for an export of the audit trail: --revocations FILE')
  }
  if (revocations === undefined) return runRestore(input)
  const result = await applyRevocations(input, revocations, expectedHashOf(options.expect))
  input.out.result(result, () => describeRevocations(result))
  return result.failures.length > 0 || !result.complete ? EXIT.failed : EXIT.ok
}

const describeRevocations = (result: AppliedRevocations): string => {
  const { rows, applied, missing, through, complete, follow_up, failures } = result
  return [
    `${countRows(rows)} verified. Applied ${formatCount(applied)} revocations; ` +
      `${formatCount(missing)} are of objects that the backup lacks, or that were deleted since.`,
    ...follow_up.map((sentence) => `${yellow('to do')} ${sentence}`),
    ...failures.map((failure) => `${alarm('not applied')} ${failure}`),
    complete
      ? `The export covers the trail up to ${through}.`
      : `${alarm('The export covers the trail up to')} ${through} only: it was cut, or is older ` +
        'than the backup. Revocations stay unknown.',
  ].join('\n')
}

const file: CommandSpec = {
  name: 'file [FILE]',
  summary: 'create a database from a backup (SQLite)',
  description:
    'Verifies checksum, pages and row counts, then creates the database. Refuses a target that ' +
    'holds an installation. Put the master secret of the backup in place before the start. The ' +
    'next start holds deliveries, jobs and mail until: gatehook restore release',
  options: [
    ...installationOptions,
    ['--revocations <FILE>', 'applies what was revoked since, of: gatehook audit export'],
    ['--expect <HASH>', 'also require that the export has a row with this hash'],
  ],
  config: ['databaseUrl'],
  examples: [
    ['gatehook restore /backups/2027-01-31.gatehook', 'on a new machine'],
    ['gatehook restore --revocations /backups/audit.ndjson', 'also after pg_restore'],
  ],
  run,
}

const dataThrough = ({ data_through: through }: RestoreJson) => through ?? 'unknown'

export const restore: CommandFamily = {
  name: 'restore',
  summary:
    'create a database from a backup; apply revocations (--revocations FILE, --expect HASH); ' +
    'release what restored data holds',
  startsWithFirst: true,
  commands: [
    file,
    administration.action({
      name: 'release',
      summary: 'sends the deliveries and mail, and runs the jobs, that restored data holds',
      examples: [['gatehook restore release', 'when receivers may get the events again']],
      act: (api) => api.request<RestoreJson>('POST', '/admin/restore/release'),
      describe: ({ released_at: at }) =>
        at === null ? 'Nothing is held.' : `Released at ${at}: nothing is held.`,
    }),
    administration.action({
      name: 'confirm',
      summary: 'confirms that no revocation since the backup is missing',
      examples: [['gatehook restore confirm', 'after you have revoked by hand what was revoked']],
      act: (api) => api.request<RestoreJson>('POST', '/admin/restore/confirm'),
      describe: (state) =>
        state.recognized_at === null
          ? 'No restored data was recognized.'
          : `Confirmed: no revocation after ${dataThrough(state)} is missing.`,
    }),
  ],
}
