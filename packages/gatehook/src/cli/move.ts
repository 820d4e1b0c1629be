/** `gatehook move`: moves an installation to another database, while its service runs (§2.8). */
import { type Config, databaseAddress, withoutPassword } from '../config/config.ts'
import { readConfig, secretFile } from '../config/environment.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { systemRandom } from '../kernel/random.ts'
import { copyAdditions, migrateService } from '../resources/migrate.ts'
import type { Database } from '../storage/database.ts'
import { migrateEngine } from '../storage/migrate.ts'
import { type MoveResult, moveInstallation, undoMove } from '../storage/move/move.ts'
import { openDatabase } from '../storage/open.ts'
import { asCommandError } from './backup.ts'
import type { CommandSpec, Input } from './command.ts'
import { databaseExists } from './doctor-checks.ts'
import { CommandError, UsageError } from './errors.ts'
import { installationOptions } from './installation.ts'
import { bold, formatCount } from './output.ts'
import { createProgress } from './progress.ts'
import { serviceOf } from './service-file.ts'

const isAddress = (url: string) => /^(sqlite:|postgres(ql)?:\/\/)/.test(url)

async function openSource(config: Config): Promise<Database> {
  if (!databaseExists(config)) {
    throw new CommandError(`There is no database at ${withoutPassword(config.databaseUrl)}.`)
  }
  return openDatabase(config.databaseUrl, { log: createLog({ level: 'silent' }) })
}

async function runMove(input: Input): Promise<undefined> {
  const { options, flags, out } = input
  const config = readConfig(flags)
  if (options.undo === true) return undo(input, config)
  const to = options.to === undefined ? undefined : String(options.to)
  if (to === undefined || !isAddress(to)) {
    throw new UsageError('Name the new database: --to postgres://… or --to sqlite:FILE.')
  }
  if (to === config.databaseUrl) throw new UsageError('Source and target are the same database.')
  const { definition } = await serviceOf(input)
  const log = createLog({ level: 'silent' })
  const source = await openSource(config)
  try {
    const target = await openDatabase(to, { log, checksReferences: false })
    try {
      const result = await asCommandError(() =>
        moveInstallation({
          source,
          target,
          targetName: withoutPassword(to),
          random: systemRandom(),
          elapsedMs: wallClock.elapsedMs,
          onProgress: createProgress(out, wallClock),
          async prepareTarget() {
            await migrateEngine(target, { clock: wallClock })
            await migrateService(target, definition)
            await copyAdditions(source, target)
          },
        }),
      )
      report(input, config, to, result)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
  return
}

function report({ out }: Input, config: Config, to: string, result: MoveResult): void {
  const { rows, tables, resumed, readOnlyMs } = result
  const target = withoutPassword(to)
  const file = secretFile(config)
  const isPostgres = databaseAddress(to).kind === 'postgres'
  const secret =
    file === undefined
      ? 'with the same GATEHOOK_SECRET_KEY.'
      : isPostgres
        ? `and GATEHOOK_SECRET_KEY, the content of ${file}.`
        : `and the master secret: copy ${file} beside the new database.`
  const value = { target, rows, tables, resumed, read_only_ms: readOnlyMs, verified: true }
  out.result(value, () =>
    [
      `${bold(target)} holds the installation: ` +
        `${formatCount(rows)} rows in ${tables} tables, verified.`,
      `The source refused writes for ${(readOnlyMs / 1000).toFixed(1)} s and stays read-only.`,
      `Start the nodes with GATEHOOK_DATABASE_URL=${target}`,
      secret,
      'To go back to the source instead: gatehook move --undo',
    ].join('\n'),
  )
}

async function undo({ out }: Input, config: Config): Promise<undefined> {
  const source = await openSource(config)
  try {
    const undone = await undoMove(source)
    if (!undone) throw new CommandError('No move of this installation has begun.')
    out.result({ undone }, () => 'The installation accepts writes again.')
  } finally {
    await source.close()
  }
  return
}

export const move: CommandSpec = {
  name: 'move',
  summary: 'copy the installation to another database while it serves',
  description:
    'Copies every row with its id, verifies counts and checksums, and makes the source ' +
    'read-only: writes there are 503 until the nodes are started on the new database. When it is ' +
    'interrupted, run it again: it continues. The target must be empty.',
  options: [
    ...installationOptions,
    ['--to <URL>', 'the new database: postgres://… or sqlite:FILE'],
    ['--undo', 'use the source again: drop the mark that makes it read-only'],
  ],
  config: ['databaseUrl'],
  examples: [
    ['gatehook move --to postgres://gatehook@db/gatehook', 'from SQLite, while the service runs'],
    ['gatehook move --undo', 'before the nodes were started on the new database'],
  ],
  run: runMove,
}
