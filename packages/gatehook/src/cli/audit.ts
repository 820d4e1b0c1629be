/** `gatehook audit …`: lists the audit trail, and verifies its hash chain (§13). */
import { once } from 'node:events'
import type { AuditRow } from '../history/audit/chain.ts'
import type { ChainReport } from '../history/audit/chain-verifier.ts'
import { administration } from './api.ts'
import { countOf, countOption } from './arguments.ts'
import type { CommandFamily, CommandSpec } from './command.ts'
import { EXIT, UsageError } from './errors.ts'
import { installation, installationOptions, withApp } from './installation.ts'
import { alarm, bold, dim, green, writeText } from './output.ts'

const HASH = /^[0-9a-f]{64}$/

function hashOf(text: unknown): string | undefined {
  if (text === undefined || HASH.test(String(text))) return text as string | undefined
  throw new UsageError(`--expect is "${text}"; expected the 64 hex digits of a row's hash.`)
}

function reportText({ valid, rows, last, broken, expected, purged_through }: ChainReport): string {
  const purgedClause = purged_through > 0 ? `, after ${purged_through} purged` : ''
  const sentence = `${rows} rows verified${purgedClause}.`
  if (broken) {
    const { id, seq, at, reason } = broken
    const place = id === null ? `at ${seq}` : `at row ${bold(id)} (${seq}, ${at})`
    return `${alarm('The chain is broken')} ${place}: ${reason}.\n${sentence}`
  }
  if (!valid && expected === false) {
    const missingHash = alarm('The expected hash is not in the chain.')
    return `${missingHash} No row is broken. ${sentence}`
  }
  return `${green('The chain is valid.')} ${sentence}\nLast row ${last.seq}, hash ${last.hash}`
}

/** Writes a line, and waits while the reader of standard output is slower. */
async function writeLine(row: AuditRow): Promise<void> {
  writeText(process.stdout, `${JSON.stringify(row)}\n`)
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain')
}

const exportCommand: CommandSpec = {
  name: 'export',
  summary: 'prints the whole chain, one JSON object in a line',
  description:
    'Prints every row with its hash. Store it beside each backup, or more often: a restore ' +
    'applies from it what was revoked since the backup (gatehook restore --revocations FILE).',
  options: installationOptions,
  config: ['databaseUrl'],
  examples: [['gatehook audit export > /backups/audit.ndjson', 'each hour']],
  run: (input) =>
    withApp(input, async (app) => {
      for await (const row of app.audit.read()) await writeLine(row)
      return undefined
    }),
}

export const audit: CommandFamily = {
  name: 'audit',
  summary: 'the audit trail: list, export, verify its hash chain',
  commands: [
    administration.list({
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
      parse: countOf,
      rows(api, { options: { action, target, principal } }, count) {
        const query = new URLSearchParams({ sort: '-id' })
        const who = String(principal ?? '').includes('@') ? 'actor_name' : 'actor_id'
        const filters = Object.entries({ action, target, [who]: principal })
        for (const [name, value] of filters) if (value !== undefined) query.set(name, String(value))
        return api.list(`/admin/audit?${query}`, count)
      },
      empty: 'No such audit rows.',
      columns: [
        'at',
        ['principal', ({ principal: { kind, id, name } }) => `${kind} ${name ?? ''} ${dim(id)}`],
        'action',
        'target',
        ['address', ({ address }) => address ?? dim('none')],
        ['request', ({ request_id }) => request_id ?? dim('none')],
        ['node', ({ node }) => node ?? dim('none')],
      ],
    }),
    installation.action({
      name: 'verify',
      summary: 'verifies the hash chain; exit code 1 when it is broken',
      description:
        'Verifies each audit row and its link to the row before. Names the first broken row. ' +
        'Store the last hash elsewhere and pass it with --expect later: a chain that was cut ' +
        'off at its end, or replaced together with its key, lacks it.',
      options: [['--expect <HASH>', 'also require that a row with this hash is in the chain']],
      examples: [['gatehook audit verify --json', 'for a scheduled check']],
      parse: ({ options }) => hashOf(options.expect),
      act: ({ audit: trail }, { out }, expect) =>
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
