/**
 * The hash chain over audit rows (§13): computes tags and links of rows, and HMACs of the chain's
 * ends. All are HMAC-SHA256 under one key: only a holder of the key can write or rewrite the chain.
 * Pure; `chain-writer.ts` appends rows and `chain-verifier.ts` verifies them.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Row } from '../../platform/storage/database.ts'

/** `previous_hash` of the first row. */
export const GENESIS = '0'.repeat(64)

/** The columns of a row that name a person or tell about one (§18.11). */
interface PersonalContent {
  readonly actor_name: string | null
  readonly address: string | null
  /** JSON text. */
  readonly detail: string
  /** Null once the three, or addresses in the last one, were removed. */
  readonly salt: string | null
}

/** The columns of a row after a removal, and the digest of its former ones. */
type ClearedContent = Pick<AuditContent, 'id' | 'digest' | 'actor_name' | 'address' | 'detail'>

/** Actors whose names are their own, also if a person signs in by the same one. */
export const OF_OTHERS = /^(operator|key|client|workload|cli)$/

/** The columns of a row whose name, address and detail were removed. */
export const REMOVED = { actor_name: null, address: null, detail: '{}' } as const

/** The columns that the writer of a row sets; the tag covers all of them. */
export interface AuditContent extends PersonalContent {
  readonly id: string
  /** Epoch milliseconds. */
  readonly at: number
  readonly actor_kind: string
  readonly actor_id: string
  readonly request_id: string | null
  readonly action: string
  readonly target: string
  /** The customer and mode that the row concerns; null for none. */
  readonly scope: number | null
  /** The name of the node that performed the operation (§18.10). */
  readonly node: string | null
  /** The salted hash of name, address and detail, which stays when they are removed. */
  readonly digest: string
}

export interface AuditRow extends Row, AuditContent {
  readonly position: number
  /** The writer's HMAC over the content; null in rows older than the chain. */
  readonly tag: string | null
  /** The service's HMAC that it removed name, address or detail; null while they are there. */
  readonly cleared: string | null
  /** Place in the chain, from 1 without gaps; null until the row is appended. */
  readonly seq: number | null
  readonly hash: string | null
  readonly previous_hash: string | null
}

/** One end of the chain: its last row (the head) or the last purged row (the anchor). */
export interface ChainEnd {
  /** 0 if there is no such row. */
  readonly seq: number
  readonly hash: string
  /** Rows up to this position may lack a tag: they are older than the chain. */
  readonly untaggedThrough: number
}

export type EndName = 'head' | 'anchor'

/** Where an export of the chain ends. */
export interface ExportEnd {
  /** The rows before it. */
  readonly rows: number
  readonly seq: number
  readonly hash: string
  /** Epoch milliseconds: the export has every row from before it. */
  readonly at: number
}

/**
 * Returns the hash of name, address and detail. Once the random salt is removed, no guess of them
 * can be compared with it.
 */
export const digestOf = ({ salt, actor_name, address, detail }: PersonalContent): string =>
  hash('sha256', JSON.stringify([salt, actor_name, address, detail]))

/** Returns whether name, address and detail of a row were removed. */
const isRemoved = ({ actor_name, address, detail }: PersonalContent): boolean =>
  actor_name === REMOVED.actor_name && address === REMOVED.address && detail === REMOVED.detail

/**
 * Returns whether the digest covers the personal columns, or the service removed them and left what
 * there is. A row that is older than the chain may lack the proof: its key is lost.
 */
function hasValidDigest(key: ChainKey, row: TaggedContent): boolean {
  if (row.salt !== null) return digestOf(row) === row.digest
  if (row.tag === null && isRemoved(row)) return true
  const cause = causeOf(row)
  return cause !== undefined && isSameHash(row.cleared, key.clearing(row, cause))
}

/** Returns the id of the row of the erasure that removed columns; undefined if none did. */
export const causeOf = ({ salt, cleared }: Pick<AuditRow, 'salt' | 'cleared'>) =>
  salt === null ? cleared?.split(':', 1)[0] : undefined

/** Returns the signed content as a JSON array: the same text on both databases. */
const canonical = (row: AuditContent): string =>
  JSON.stringify([
    ...[row.id, row.at, row.actor_kind, row.actor_id, row.request_id, row.action, row.target],
    ...[row.scope, row.node, row.digest],
  ])

/** The operation that begins an erasure: `customer.delete` or `person.erase`, with its target. */
export interface ClearingReason {
  readonly action: 'customer.delete' | 'person.erase'
  readonly target: string
  /** Both scopes of the customer, or that of the person. */
  readonly scopes: readonly number[]
}

/** The permission of a warrant. */
export interface ClearingGrant extends ClearingReason {
  /** The id of the row that records the operation. */
  readonly cause: string
  /** The digest of the values by which the erasure of a person selects rows. */
  readonly values?: string
}

/** A grant, and the proof that the service issued it. */
export interface ClearingWarrant extends ClearingGrant {
  readonly proof: string
}

export interface ChainKey {
  /** Returns the writer's tag of a row. */
  tag(row: AuditContent): string
  /** Returns `cleared`: the cause, and the proof that the service removed columns for it. */
  clearing(row: ClearedContent, cause: string): string
  /** Returns the proof that an operation permits the service to remove columns of rows. */
  warrant(grant: ClearingGrant): string
  /** Returns the row's `hash`, over its content, tag, place and previous hash. */
  link(row: AuditContent & Pick<AuditRow, 'tag'>, seq: number, previousHash: string): string
  endMac(name: EndName, end: ChainEnd): string
  exportMac(end: ExportEnd): string
}

/** Returns the HMACs of the chain under `key`, 32 bytes. */
export function createChainKey(key: Uint8Array): ChainKey {
  const mac = (purpose: string, ...parts: readonly (string | number | null)[]) =>
    createHmac('sha256', key)
      .update(JSON.stringify([purpose, ...parts]))
      .digest('hex')
  return {
    tag: (row) => mac('row', canonical(row)),
    clearing: ({ id, digest, actor_name, address, detail }, cause) =>
      `${cause}:${mac('cleared', id, digest, actor_name, address, detail, cause)}`,
    warrant: ({ action, target, scopes, cause, values = null }) =>
      mac('warrant', action, target, cause, values, ...scopes),
    link: (row, seq, previousHash) => mac('link', seq, previousHash, row.tag, canonical(row)),
    endMac: (name, { seq, hash, untaggedThrough }) => mac(name, seq, hash, untaggedThrough),
    exportMac: ({ rows, seq, hash, at }) => mac('export', rows, seq, hash, at),
  }
}

const isInScope = ({ scope }: AuditContent, { scopes }: ClearingReason): boolean =>
  scope !== null && scopes.includes(scope)

/**
 * Returns whether a reason permits to remove name, address and details of a row. The erasure of a
 * person removes them from operations of others on it alone: in another row of its customer, of an
 * actor without an own name, only a name of the person can be.
 */
export function isRemovable(row: AuditContent, reason: ClearingReason): boolean {
  if (reason.action === 'customer.delete') return isInScope(row, reason)
  const { actor_kind, actor_id, target } = row
  if (target === reason.target || (actor_kind === 'person' && actor_id === reason.target))
    return true
  return isInScope(row, reason) && !OF_OTHERS.test(actor_kind)
}

/** Returns whether a reason permits to replace addresses in the details of a row. */
export const isReplaceable = (row: AuditContent, reason: ClearingReason): boolean =>
  reason.action === 'person.erase' && isInScope(row, reason)

/** Returns whether `cause`, a row of the trail, permits the removal from another row. */
export function explainsRemoval(cause: AuditRow, row: AuditRow): boolean {
  const { action, target, scope } = cause
  if (action === 'person.erase') {
    const reason: ClearingReason = { action, target, scopes: scope === null ? [] : [scope] }
    return isRemoved(row) ? isRemovable(row, reason) : isReplaceable(row, reason)
  }
  if (action !== 'customer.delete') return false
  // The erasure of the person that deleted the customer has removed the details.
  if (cause.salt === null) return true
  return (
    isRemoved(row) && isRemovable(row, { action, target, scopes: JSON.parse(cause.detail).scopes })
  )
}

/** Compares two hashes in constant time. */
export function isSameHash(a: string | null, b: string): boolean {
  const [left, right] = [Buffer.from(a ?? ''), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

type TaggedContent = Pick<AuditRow, 'position' | 'tag' | 'cleared'> & AuditContent

/** Returns whether digest and tag are valid; a row that is older than the chain has no tag. */
export function hasValidTag(key: ChainKey, row: TaggedContent, untaggedThrough: number): boolean {
  if (!hasValidDigest(key, row)) return false
  if (row.tag === null) return row.position <= untaggedThrough
  return isSameHash(row.tag, key.tag(row))
}

/** Returns the reason why `row` does not follow `previous`; undefined if it does. */
export function findBreak(key: ChainKey, row: AuditRow, previous: ChainEnd): string | undefined {
  if (row.seq !== previous.seq + 1) {
    return `rows ${previous.seq + 1} to ${Number(row.seq) - 1} of the chain are missing before it`
  }
  if (!isSameHash(row.previous_hash, previous.hash)) {
    return 'its previous_hash is not the hash of the row before'
  }
  if (!hasValidTag(key, row, previous.untaggedThrough)) {
    return row.tag === null
      ? 'it has no tag: it was not written by the service'
      : 'its content does not match its tag: it was changed, or not written by the service'
  }
  if (!isSameHash(row.hash, key.link(row, row.seq, previous.hash))) {
    return 'its hash does not match its content and place'
  }
  return undefined
}
