/** `gatehook audit …`: lists the audit trail, and verifies its hash chain (§13). */
import { openExistingVault } from '../assembly/secrets.ts'
import { auditActions } from '../history/audit/actions.ts'
import type { ExportLine } from '../history/audit/chain-export.ts'
import type { ChainReport } from '../history/audit/chain-verifier.ts'
import { ChainError } from '../history/audit/chain-writer.ts'
import { type AuditFilters, auditView, findNewestEntries } from '../history/audit/collection.ts'
import { type AuditTrail, openAuditTrail } from '../history/audit/trail.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { systemRandom } from '../kernel/random.ts'
import { auditEntry } from '../operate/system/operations.ts'
import { nodeNameOf } from '../platform/config/environment.ts'
import type { Database } from '../platform/storage/database.ts'
import { urlOption, withRemoteApi } from './api.ts'
import { countOf, countOption, expectedHashOf } from './arguments.ts'
import {
  type CommandFamily,
  type CommandSpec,
  commandsOn,
  configOf,
  type Input,
} from './command.ts'
import { CommandError, EXIT, UsageError } from './errors.ts'
import type { JsonBody } from './http-client.ts'
import { installationOptions, requireMigrated, withDatabase } from './installation.ts'
import { alarm, bold, countRows, green, writeOut } from './output.ts'
import { errorStream } from './terminal-log.ts'

function reportText(report: ChainReport): string {
  const { valid, rows, last, broken, expected, purged_through } = report
  const beyond = beyondText(report)
  const purgedClause = purged_through > 0 ? `, after ${purged_through} purged` : ''
  const sentence = `${countRows(rows)} verified${purgedClause}.`
  if (broken) {
    const { id, seq, at, reason } = broken
    const place = id === null ? `at ${seq}` : `at row ${bold(id)} (${seq}, ${at})`
    return `${alarm('The chain is broken')} ${place}: ${reason}.\n${sentence}${beyond}`
  }
  if (!valid && expected === false) {
    const missingHash = alarm('The expected hash is not in the chain.')
    return `${missingHash} No row is broken. ${sentence}${beyond}`
  }
  const lastRow = `Last row ${last.seq}, hash ${last.hash}`
  return `${green('The chain is valid.')} ${sentence}\n${lastRow}${beyond}`
}

/** SQLite takes the positions of a transaction back that is rolled back; PostgreSQL does not. */
function beyondText({ positions_beyond: count = 0 }: ChainReport): string {
  if (count === 0) return ''
  const positions = count === 1 ? '1 position' : `${count} positions`
  return (
    `\n${alarm(positions)} after the last row have no row: it was removed, its transaction was ` +
    'rolled back (PostgreSQL only), or a restore has skipped it. Compare with a stored hash.'
  )
}

const writeLine = (row: ExportLine) => writeOut(`${JSON.stringify(row)}\n`)

interface LocalTrail {
  readonly trail: AuditTrail
  readonly db: Database
}

/** Opens the trail without the declaration of the service: it is read in any folder (§18.3). */
function withTrail<T>(input: Input, use: (local: LocalTrail) => Promise<T>): Promise<T> {
  const config = configOf(input)
  const log = createLog({ level: 'warn', destination: errorStream(input.out.json) })
  return withDatabase(config, log, async (db) => {
    await requireMigrated(db)
    const random = systemRandom()
    const vault = await openExistingVault(db, config)
    if (!vault) throw new CommandError('No service has ever used this database.')
    const node = nodeNameOf(config)
    const retentionDays = config.auditRetentionDays
    const deps = { db, vault, log, node, retentionDays, clock: wallClock, random }
    return use({ trail: await openAuditTrail(deps), db })
  })
}

/** Reads the newest rows, newest first. */
type ReadNewest = (filters: AuditFilters, count: number) => Promise<JsonBody[]>

async function withRows<T>(input: Input, use: (read: ReadNewest) => Promise<T>): Promise<T> {
  if (input.options.url !== undefined) {
    return withRemoteApi(input, (api) =>
      use((filters, count) =>
        api.list(`/admin/audit?${new URLSearchParams({ sort: '-id', ...filters })}`, count),
      ),
    )
  }
  return withTrail(input, ({ trail, db }) =>
    use(async (filters, count) => {
      await trail.appendForReader()
      const rows = await findNewestEntries(db, filters, count)
      return rows.map((row) => JSON.parse(auditView.item(row, {})))
    }),
  )
}

const shared = { options: installationOptions, config: ['databaseUrl'] } as const
const rowCommands = commandsOn<ReadNewest>(withRows, {
  ...shared,
  options: [...installationOptions, urlOption],
})
const trailCommands = commandsOn<LocalTrail>(withTrail, shared)

function filtersOf({ options: { action, target, principal } }: Input): AuditFilters {
  if (action !== undefined && !Object.hasOwn(auditActions, String(action))) {
    throw new UsageError(`--action is "${action}"; docs/reference/audit.md lists the actions.`)
  }
  const who = String(principal ?? '').includes('@') ? 'actor_name' : 'actor_id'
  const filters = Object.entries({ action, target, [who]: principal })
  return Object.fromEntries(filters.filter(([, value]) => value !== undefined))
}

const exportCommand: CommandSpec = {
  name: 'export',
  summary: 'prints the whole chain, one JSON object in a line',
  description:
    'Prints every row with its hash, and a last line that says where the export ends. Store it ' +
    'beside each backup, or more often: a restore applies from it what was revoked since the ' +
    'backup (gatehook restore --revocations FILE).',
  ...shared,
  examples: [['gatehook audit export > /backups/audit.ndjson', 'each hour']],
  run: (input) =>
    withTrail(input, async ({ trail }) => {
      try {
        for await (const line of trail.export()) await writeLine(line)
      } catch (error) {
        throw error instanceof ChainError ? new CommandError(error.message) : error
      }
      return undefined
    }),
}

export const audit: CommandFamily = {
  name: 'audit',
  summary: 'the audit trail: list, export, verify its hash chain',
  commands: [
    rowCommands.list({
      name: 'list',
      summary: 'the newest audit rows, newest first',
      options: [
        ['--action <ACTION>', 'only this action: key.create'],
        ['--target <ID>', 'only operations on this object'],
        ['--principal <WHO>', 'only operations of this principal: an id, or an e-mail address'],
        countOption,
      ],
      examples: [
        ['gatehook audit list --action key.create', 'who created keys'],
        ['gatehook audit list --principal ada@example.com', 'what an operator did'],
      ],
      parse: (input) => ({ filters: filtersOf(input), count: countOf(input) }),
      rows: (read, _, { filters, count }) => read(filters, count),
      empty: 'No such audit rows.',
      columns: auditEntry,
    }),
    trailCommands.action({
      name: 'verify',
      summary: 'verifies the hash chain; exit code 1 when it is broken',
      description:
        'Verifies each audit row and its link to the row before. Names the first broken row. ' +
        'Store the last hash elsewhere and pass it with --expect later: a chain that was cut ' +
        'off at its end, or replaced together with its key, lacks it. The log of each node has ' +
        'seq and hash of the head at most once a minute. Positions that were assigned after the ' +
        'last row are counted.',
      options: [
        ['--expect <HASH>', 'also require that a row with this hash, or SEQ:HASH, is in the chain'],
      ],
      examples: [['gatehook audit verify --json', 'for a scheduled check']],
      parse: ({ options }) => expectedHashOf(options.expect),
      act: ({ trail }, { out }, expect) =>
        trail.verify({
          expect,
          onProgress: (rows, all) => out.progress(`${rows} of ${all} rows verified`),
        }),
      describe: reportText,
      exit: ({ valid }) => (valid ? EXIT.ok : EXIT.failed),
    }),
    exportCommand,
  ],
}
