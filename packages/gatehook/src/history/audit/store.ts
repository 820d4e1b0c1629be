/**
 * Records operations in the audit trail (§12.7, §13), in the transaction of the operation.
 * `collection.ts` lists the rows; `trail.ts` appends them to the hash chain.
 */

import type { Clock } from '../../kernel/clock.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import type { Call } from '../../protocol/http/call.ts'
import type { Actor, AuditPrincipal } from './actor.ts'
import { type AuditContent, type ClearingGrant, type ClearingWarrant, digestOf } from './chain.ts'

export interface AuditEntry {
  readonly actor: Actor
  /** The operation: `key.create`, `customer.update`. */
  readonly action: string
  /** The id of the object of the operation. */
  readonly target: string
  /**
   * The scope of the customer whose object the target is: the row's names and details are cleared
   * with the customer (§18.11). Default: the scope of the actor.
   */
  readonly scope?: number | undefined
  /** The id of the row, for an operation that an earlier commit may have recorded. */
  readonly id?: string | undefined
  /** Further facts; never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>
}

const SALT_BYTES = 16

const ANONYMOUS: AuditPrincipal = { kind: 'anonymous', id: 'anonymous' }

/**
 * Returns the actor of a request: its principal, address and request id. An endpoint that verifies
 * a credential itself (login, token endpoint) passes the `principal`.
 */
export function actorOf(
  call: Pick<Call, 'id' | 'address' | 'principal'>,
  principal: AuditPrincipal | undefined = principalOf(call.principal),
): Actor {
  const { kind, id, name, scope } = principal ?? ANONYMOUS
  // The command line sends its requests within its process.
  if (kind === 'cli') return { kind, id }
  return { kind, id, name, scope, address: call.address, requestId: call.id }
}

function principalOf(principal: Principal | undefined): AuditPrincipal | undefined {
  if (!principal) return undefined
  const { kind, subject: id, name } = principal.caller ?? principal
  return { kind, id, name, scope: principal.scope }
}

export interface DetailReplacement {
  readonly position: number
  /** JSON text. */
  readonly detail: string
}

export interface AuditSigner {
  /** Returns the HMAC over a row's content. */
  tag(content: AuditContent): string
  /**
   * Returns the warrant of an erasure, whose transaction records its cause. The job of the erasure
   * stores it: a writer of the database can start a job, and cannot issue a warrant.
   */
  warrantFor(grant: ClearingGrant): ClearingWarrant
  /** Returns false once the erasure has ended. Throws `ChainError` for a forged warrant. */
  isOpenWarrant(reader: Reader, warrant: ClearingWarrant | undefined): Promise<boolean>
  /**
   * Proves that the service removes names and details of the rows of some positions, which the
   * transaction does next. A row that another program changed gets no proof: `gatehook audit
   * verify` reports it. Throws `ChainError` without a warrant that is open.
   */
  proveClearing(tx: Tx, positions: readonly number[], warrant: ClearingWarrant): Promise<void>
  /** Replaces the details of a row by others without personal values, in the same way. */
  replaceDetail(tx: Tx, row: DetailReplacement, warrant: ClearingWarrant): Promise<void>
  /** Called after the commit of a row. */
  onCommit(): void
  /** The name of this node. */
  readonly node: string
}

/** The dependencies of `recordAudit`. */
export interface AuditContext {
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
}

export const createAuditId = (nowMs: number, random: Random): string =>
  createTimeOrderedId('aud_', nowMs, random)

/**
 * Records one operation and returns the id of its row. The row is stored if and only if the
 * caller's transaction commits, and is appended to the chain after that.
 */
export async function recordAudit(
  tx: Tx,
  entry: AuditEntry,
  { clock, random, trail }: AuditContext,
): Promise<string> {
  const { actor } = entry
  const at = clock.now()
  const content = {
    id: entry.id ?? createAuditId(at, random),
    at,
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: actor.name ?? null,
    address: actor.address ?? null,
    request_id: actor.requestId ?? null,
    action: entry.action,
    target: entry.target,
    scope: entry.scope ?? actor.scope ?? null,
    detail: JSON.stringify(entry.detail ?? {}),
    node: trail.node,
    salt: random.bytes(SALT_BYTES).toString('base64url'),
  }
  const row: AuditContent = { ...content, digest: digestOf(content) }
  tx.runLater(insert([...storedValues(row), trail.tag(row)]))
  tx.afterCommit(trail.onCommit)
  return row.id
}

const STORED = [
  ...['id', 'at', 'actor_kind', 'actor_id', 'actor_name', 'address', 'request_id', 'action'],
  ...['target', 'scope', 'detail', 'node', 'salt', 'digest'],
] as readonly (keyof AuditContent)[]
const storedValues = (row: AuditContent) => STORED.map((name) => row[name])
const insert = prepareStatement(
  `INSERT INTO gh_audit (${STORED.join(', ')}, tag)
   VALUES (${STORED.map(() => '?').join(', ')}, ?)`,
)

/** Returns the time of the newest row, in epoch milliseconds. The trail always has a row. */
export async function findNewestTime(from: Reader): Promise<number> {
  const row = await from.get(sql`SELECT MAX(at) AS at FROM gh_audit`)
  return Number(row!.at)
}

/**
 * Returns the time through which the trail records, in epoch milliseconds: of its newest row that
 * is not after `now`. Rows of a clock that was ahead keep their times. If all are after `now`, the
 * oldest.
 */
export async function findDataTime(from: Reader, now: number): Promise<number> {
  const past = await from.get(sql`SELECT MAX(at) AS at FROM gh_audit WHERE at <= ${now}`)
  const row = past?.at == null ? await from.get(sql`SELECT MIN(at) AS at FROM gh_audit`) : past
  return Number(row!.at)
}

/** Returns the time of the newest row of a request to a node; undefined without one. */
export async function findLastRequestTime(from: Reader): Promise<number | undefined> {
  const row = await from.get(sql`SELECT MAX(at) AS at FROM gh_audit WHERE request_id IS NOT NULL`)
  return row?.at == null ? undefined : Number(row.at)
}
