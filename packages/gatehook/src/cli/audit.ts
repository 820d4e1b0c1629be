/** `gatehook audit …`: the audit trail and its chain (§13). */

import type { ChainReport } from '../audit/chain-verifier.ts'
import { listNewestAuditRows } from '../audit/collection.ts'
import type { FamilySpec } from './command.ts'
import { engine } from './engine.ts'
import { UsageError } from './mistake.ts'
import { alarm, bold, dim, green } from './output.ts'

const DEFAULT_COUNT = 50
const MAX_COUNT = 10_000
const FINDINGS = 1
const HASH = /^[0-9a-f]{64}$/

function countOf(text: unknown): number {
  if (text === undefined) return DEFAULT_COUNT
  const count = /^\d{1,5}$/.test(String(text)) ? Number(text) : 0
  if (count >= 1 && count <= MAX_COUNT) return count
  throw new UsageError(`--count is "${text}"; expected 1 to ${MAX_COUNT}.`)
}

function hashOf(text: unknown): string | undefined {
  if (text === undefined || HASH.test(String(text))) return text as string | undefined
  throw new UsageError(`--expect is "${text}"; expected the 64 hex digits of a row's hash.`)
}

const textOf = (value: unknown) => (value === undefined ? undefined : String(value))

function reportText({ valid, rows, last, broken, expected, purged_through }: ChainReport): string {
  const purged = purged_through > 0 ? `, after ${purged_through} purged` : ''
  const verified = `${rows} rows verified${purged}.`
  if (broken) {
    const { id, seq, at, reason } = broken
    const which = id === null ? `at ${seq}` : `at row ${bold(id)} (${seq}, ${at})`
    return `${alarm('The chain is broken')} ${which}: ${reason}.\n${verified}`
  }
  if (!valid && expected === false) {
    const lacking = alarm('The expected hash is not in the chain.')
    return `${lacking} No row is broken. ${verified}`
  }
  return `${green('The chain is valid.')} ${verified}\nLast row ${last.seq}, hash ${last.hash}`
}

export const audit: FamilySpec = {
  name: 'audit',
  summary: 'the audit trail: list, verify its hash chain',
  commands: [
    engine.list({
      name: 'list',
      summary: 'the newest audit rows, the newest first',
      options: [
        ['--action <ACTION>', 'only this action: key.create'],
        ['--target <ID>', 'only what was done to this object'],
        ['--principal <ID>', 'only what this principal did'],
        ['--count <N>', `how many (default ${DEFAULT_COUNT})`],
      ],
      examples: [['gatehook audit list --action key.create', 'who created keys']],
      rows({ options: { action, target, principal, count } }) {
        const filter = {
          action: textOf(action),
          target: textOf(target),
          actor_id: textOf(principal),
        }
        const most = countOf(count)
        return async ({ db, audit: trail }) => {
          await trail.appendToChain()
          return listNewestAuditRows(db, filter, most)
        }
      },
      none: 'No such audit rows.',
      columns: {
        at: (row) => row.at,
        principal: ({ principal: { kind, id, name } }) => `${kind} ${name ?? id}`,
        action: (row) => row.action,
        target: (row) => row.target,
        address: (row) => row.address ?? dim('none'),
        request: (row) => row.request_id ?? dim('none'),
      },
    }),
    engine.act({
      name: 'verify',
      summary: 'verifies the hash chain; exit code 1 when it is broken',
      description:
        'Verifies each audit row and its link to the row before. Names the first broken row. ' +
        'Note the last hash elsewhere and pass it with --expect later: a chain that was cut off ' +
        'at its end, or replaced together with its key, lacks it.',
      options: [['--expect <HASH>', 'also require that a row with this hash is in the chain']],
      examples: [['gatehook audit verify --json', 'for a scheduled check']],
      act({ options: { expect }, out }) {
        const wanted = hashOf(expect)
        return ({ audit: trail }) =>
          trail.verify({
            expect: wanted,
            onProgress: (rows, all) => out.progress(`${rows} of ${all} rows verified`),
          })
      },
      said: reportText,
      exit: ({ valid }) => (valid ? 0 : FINDINGS),
    }),
  ],
}
