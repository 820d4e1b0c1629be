/** `gatehook move`: moves an installation to another database, while its service runs (§2.8). */

import { openExistingVault } from '../assembly/secrets.ts'
import { moveOf, optionsOfUndo } from '../declare/resources/move-target.ts'
import { recordAudit } from '../history/audit/store.ts'
import { openSigner } from '../history/audit/trail.ts'
import { wallClock } from '../kernel/clock.ts'
import type { DatabaseTarget } from '../kernel/database-target.ts'
import { createLog } from '../kernel/log.ts'
import { systemRandom } from '../kernel/random.ts'
import {
  type Config,
  databaseTarget,
  hasPassword,
  withoutPassword,
} from '../platform/config/config.ts'
import {
  databaseExists,
  databaseIn,
  environmentMoveTarget,
  nodeNameOf,
  secretFile,
} from '../platform/config/environment.ts'
import { type Database, StorageError, type Tx } from '../platform/storage/database.ts'
import { requireOneServer } from '../platform/storage/distribution/one-server.ts'
import { readMark } from '../platform/storage/move/mark.ts'
import { type MoveResult, moveInstallation } from '../platform/storage/move/move.ts'
import { describeLost, type UndoResult, undoMove } from '../platform/storage/move/undo.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { isInstalled } from '../platform/storage/settings.ts'
import { asCommandError } from './backup.ts'
import { type CommandSpec, configOf, type Input } from './command.ts'
import { CommandError, EXIT, UsageError } from './errors.ts'
import { cliActor, installationOptions, requireInstallation } from './installation.ts'
import { alarm, bold, countRows, formatCount } from './output.ts'
import { createProgress } from './progress.ts'
import { serviceOf } from './service-file.ts'

const isAddress = (url: string) => /^(sqlite:|postgres(ql)?:\/\/)/.test(url)

async function openSource(config: Config): Promise<Database> {
  if (!databaseExists(config)) {
    throw new CommandError(`There is no database at ${withoutPassword(config.databaseUrl)}.`)
  }
  // The option is about the new database.
  const target = { ...databaseTarget(config), distributed: undefined }
  return openDatabase(target, { log: createLog({ level: 'silent' }) })
}

const DISTRIBUTED = 'The tables of the source are distributed; a move reads no such database.'

/** Returns the function that records the steps of a move in the audit trail of `db`. */
async function createAuditor(db: Database, config: Config) {
  const vault = await openExistingVault(db, config)
  const trail = vault && (await openSigner({ db, vault, node: nodeNameOf(config) }))
  return async (tx: Tx, action: string, detail = {}): Promise<void> => {
    if (!trail) return // the service was never started
    const entry = { actor: cliActor(), action, target: 'installation', detail }
    await recordAudit(tx, entry, { clock: wallClock, random: systemRandom(), trail })
  }
}

async function runMove(input: Input): Promise<undefined> {
  const { options, out } = input
  const config = configOf(input)
  if (options.undo === true) return undo(input, config)
  if (options.force === true) throw new UsageError('--force belongs to --undo.')
  const given = String(options.to ?? environmentMoveTarget() ?? '')
  if (!isAddress(given)) {
    throw new UsageError(
      'Name the new database, postgres://… or sqlite:FILE, in GATEHOOK_MOVE_TO or with --to.',
    )
  }
  if (options.to !== undefined && hasPassword(given)) {
    throw new CommandError(
      '--to contains a password, and arguments are visible to others. Give it in GATEHOOK_MOVE_TO.',
      EXIT.configuration,
    )
  }
  const to = databaseIn(input.folder, given)
  if (to === config.databaseUrl) throw new UsageError('Source and target are the same database.')
  const service = await serviceOf(input)
  const log = createLog({ level: 'silent' })
  const source = await openSource(config)
  try {
    requireOneServer(source, () => new CommandError(DISTRIBUTED))
    // The target gets the declared tables: a column that the source lacks would have no values.
    if (!(await readMark(source))) await requireInstallation(config, service, log)
    const audit = await createAuditor(source, config)
    const target = await openDatabase(
      { ...targetOf(config, to), distributed: config.databaseDistributed ?? undefined },
      { log, checksReferences: false },
    )
    try {
      const targetName = withoutPassword(to)
      const result = await asCommandError(() =>
        moveInstallation({
          ...moveOf(source, target, service.definition),
          targetName,
          random: systemRandom(),
          elapsedMs: wallClock.elapsedMs,
          onProgress: createProgress(out, wallClock),
          audit: (tx, step) =>
            audit(tx, step === 'begin' ? 'installation.move' : 'installation.moved', {
              target: targetName,
            }),
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
  const targetFile = secretFile({ ...config, databaseUrl: to })
  const secret =
    file === targetFile
      ? 'with the same master secret.'
      : targetFile === undefined
        ? `and GATEHOOK_SECRET_KEY, the content of ${file}.`
        : `and the master secret: copy ${file} to ${targetFile}.`
  const value = { target, rows, tables, resumed, read_only_ms: readOnlyMs, verified: true }
  out.result(value, () =>
    [
      `${bold(target)} holds the installation: ` +
        `${countRows(rows)} in ${tables} tables, verified.`,
      readOnlyMs === null
        ? 'The source has refused writes since an earlier run of the command, and stays read-only.'
        : `The source refused writes for ${(readOnlyMs / 1000).toFixed(1)} s and stays read-only.`,
      `Start the nodes with GATEHOOK_DATABASE_URL=${target}`,
      secret,
      'To go back to the source instead: gatehook move --undo',
    ].join('\n'),
  )
}

/** Schema and owner are the same in both databases. */
const targetOf = (config: Config, url: string): DatabaseTarget => {
  const { schema, owner } = databaseTarget(config)
  return { url, schema, owner }
}

/** Opens the target of a move; its address has a password that the mark has not. */
async function openTarget(
  name: string,
  config: Config,
  { options, folder }: Input,
): Promise<Database> {
  const given = options.to ?? environmentMoveTarget()
  const to = given === undefined ? name : databaseIn(folder, String(given))
  const url = withoutPassword(to) === name ? to : databaseIn(folder, name)
  try {
    if (!databaseExists({ databaseUrl: url })) throw new Error('there is no file')
    if (url.includes('…')) throw new Error('its address has a password, which was not stored')
    const db = await openDatabase(targetOf(config, url), { log: createLog({ level: 'silent' }) })
    if (await isInstalled(db)) return db
    await db.close()
    throw new Error('it holds no installation')
  } catch (error) {
    throw new StorageError(
      `The target ${name} cannot be read, and may have rows that the source lacks: ` +
        `${(error as Error).message.replace(/\.+$/, '')}. ` +
        'Give its address in GATEHOOK_MOVE_TO. With --force, rows that only it has are lost, and ' +
        'it still accepts writes.',
      { cause: error },
    )
  }
}

async function undo(input: Input, config: Config): Promise<undefined> {
  const { out, options } = input
  const source = await openSource(config)
  try {
    const audit = await createAuditor(source, config)
    const result = await asCommandError(() =>
      undoMove({
        source,
        ...optionsOfUndo,
        sourceName: withoutPassword(config.databaseUrl),
        openTarget: (name) => openTarget(name, config, input),
        isForced: options.force === true,
        audit: (tx) => audit(tx, 'installation.move_undo'),
      }),
    )
    if (!result) throw new CommandError('No move of this installation has begun.')
    const { target, targetStopped, targetFault = null, lost, skippedIds } = result
    const value = {
      undone: true,
      target,
      target_stopped: targetStopped,
      target_fault: targetFault,
      lost,
      skipped_ids: skippedIds,
    }
    out.result(value, () => describeUndo(result))
  } finally {
    await source.close()
  }
  return
}

function describeUndo(result: UndoResult): string {
  const { target, targetStopped, targetFault, lost, skippedIds } = result
  const writable =
    `${target} was not read, and still accepts writes: stop its nodes, and drop it. Else two ` +
    'installations send the same webhooks and run the same jobs.'
  const gap = `Ids continue after a gap of ${formatCount(skippedIds)}`
  return [
    'The installation accepts writes again.',
    ...(targetStopped ? [`${bold(target)} is read-only now.`] : []),
    ...(targetFault === undefined ? [] : [alarm(writable)]),
    ...(lost.length > 0 ? [`It has rows that are not here: ${describeLost(lost)}.`] : []),
    ...(skippedIds > 0 ? [`${gap}: the target may have given these.`] : []),
  ].join('\n')
}

export const move: CommandSpec = {
  name: 'move',
  summary: 'copy the installation to another database while it serves',
  description:
    'Copies every row with its id, verifies counts and checksums, and makes the source ' +
    'read-only: writes there are 503 until the nodes are started on the new database. When it is ' +
    'interrupted, run it again: it continues. The target must be empty. Every user of the ' +
    'machine can read arguments: give a URL with a password in GATEHOOK_MOVE_TO.',
  options: [
    ...installationOptions,
    ['--to <URL>', 'postgres://… or sqlite:FILE (default: GATEHOOK_MOVE_TO)'],
    ['--undo', 'use the source again, unless the target has rows that it lacks'],
    ['--force', 'with --undo: lose the rows of the target'],
  ],
  config: ['databaseUrl'],
  examples: [
    ['gatehook move --to sqlite:./data/moved.db', 'while the service runs'],
    ['GATEHOOK_MOVE_TO=postgres://… gatehook move', 'to PostgreSQL, with a password'],
    ['gatehook move --undo', 'before the nodes were started on the new database'],
  ],
  run: runMove,
}
