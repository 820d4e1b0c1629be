/**
 * Seals committed audit rows into the chain, and purges its oldest rows. Writers of audit rows do
 * not wait for each other: a row gets its place after its commit, in one transaction at a time over
 * all nodes, which holds the row of the head. Only this file updates or deletes audit rows.
 */
import { isoTime } from '../kernel/time.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { ChainEnd, ChainKey, EndName } from './chain.ts'
import { isSameHash, isTagged } from './chain.ts'
import * as store from './chain-store.ts'
import { recordAudit, type Sources } from './store.ts'

/** Rows sealed in one transaction. */
const SEALED_AT_ONCE = 200
/** Rows purged in one transaction. */
const PURGED_AT_ONCE = 10_000
const DAY_MS = 86_400_000

export interface ChainDeps {
  readonly db: Database
  readonly key: ChainKey
}

/** The chain cannot be continued: an end of it is missing or was changed. */
export class ChainError extends Error {
  override readonly name = 'ChainError'
}

/** Throws `ChainError`. */
export function authentic(key: ChainKey, name: EndName, end: store.StoredEnd | undefined) {
  if (!end) throw new ChainError(`The ${name} of the audit chain is missing.`)
  if (isSameHash(end.mac, key.endMac(name, end))) return end
  throw new ChainError(`The ${name} of the audit chain was changed outside of the service.`)
}

/** An end of the chain with its HMAC, as it is stored. */
export const signedEnd = (key: ChainKey, name: EndName, end: ChainEnd): store.StoredEnd => {
  const { seq, hash, untaggedThrough } = end
  return { seq, hash, untaggedThrough, mac: key.endMac(name, end) }
}

export interface Sealed {
  readonly rows: number
  /** Ids of rows whose tag is missing or wrong; they are sealed as they are. */
  readonly suspect: readonly string[]
}

const NOTHING: Sealed = { rows: 0, suspect: [] }

/**
 * Seals up to 200 rows, by their position. A row whose writer did not hold the key is sealed with
 * the others: `verify` reports it. Throws `ChainError`.
 */
export async function sealBatch({ db, key }: ChainDeps): Promise<Sealed> {
  if (!(await store.hasUnsealed(db))) return NOTHING
  return db.write(async (tx) => {
    const head = authentic(key, 'head', await store.lockHead(tx))
    const rows = await store.unsealedRows(tx, SEALED_AT_ONCE)
    let end: ChainEnd = head
    for (const row of rows) {
      const [seq, before] = [end.seq + 1, end.hash]
      const hash = key.link(row, seq, before)
      await store.sealRow(tx, row, seq, hash, before)
      end = { ...end, seq, hash }
    }
    if (rows.length > 0) await store.updateEnd(tx, 'head', signedEnd(key, 'head', end))
    const suspect = rows.filter((row) => !isTagged(key, row, head.untaggedThrough))
    return { rows: rows.length, suspect: suspect.map(({ id }) => id) }
  })
}

/**
 * Purges rows older than `before`, once the oldest is a day older than that. The last purged row
 * becomes the anchor, from which the chain is verified; the purge itself is an audit row. The
 * newest row always stays.
 */
export const purgeRows = (
  { db, key, ...sources }: ChainDeps & Sources,
  before: number,
): Promise<number> =>
  db.write(async (tx) => {
    const first = await store.oldestAt(tx)
    if (first === undefined || first >= before - DAY_MS) return 0
    const head = authentic(key, 'head', await store.lockHead(tx))
    const anchor = authentic(key, 'anchor', await store.readEnd(tx, 'anchor'))
    const last = await store.lastBefore(tx, before, {
      after: anchor.seq,
      through: Math.min(anchor.seq + PURGED_AT_ONCE, head.seq - 1),
    })
    if (!last) return 0
    return purgeThrough(tx, { key, ...sources }, { ...anchor, ...last }, before)
  })

async function purgeThrough(
  tx: Tx,
  { key, ...sources }: Omit<ChainDeps, 'db'> & Sources,
  end: ChainEnd,
  before: number,
): Promise<number> {
  const rows = await store.dropThrough(tx, end.seq)
  await store.updateEnd(tx, 'anchor', signedEnd(key, 'anchor', end))
  const detail = { rows, before: isoTime(before), through: end.seq, hash: end.hash }
  const actor = { kind: 'system', id: 'retention' } as const
  await recordAudit(tx, { actor, action: 'audit.purge', target: 'audit', detail }, sources)
  return rows
}
