/**
 * The audit trail (§12.7, §13): who did what, from where, written in the transaction of the
 * operation. How rows are listed is `collection.ts`.
 */
import type { Call } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { timeOrderedId } from '../kernel/id.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

/** The principal of an audit row: a credential's, an operator, the command line or the engine. */
export interface AuditPrincipal {
  readonly kind: Principal['kind'] | 'cli' | 'system' | 'anonymous'
  /** `Principal.subject`; the account name for `cli`, the part of the engine for `system`. */
  readonly id: string
  /** The name of the key, client, person or operator at that time, where it is known. */
  readonly name?: string | undefined
}

/** A principal, and the request it came with; the last two are absent outside of HTTP. */
export interface Actor extends AuditPrincipal {
  /** The client's address. */
  readonly address?: string | undefined
  /** `X-Request-Id`. */
  readonly requestId?: string | undefined
}

export interface Act {
  readonly actor: Actor
  /** The operation: `key.create`, `customer.update`. */
  readonly action: string
  /** The id of the object of the operation. */
  readonly target: string
  /** Further facts; never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>
}

const ANONYMOUS: AuditPrincipal = { kind: 'anonymous', id: 'anonymous' }

/**
 * Returns the actor of a call: its principal, address and request id. An endpoint that verifies a
 * credential itself (login, token endpoint) passes the `principal` that it found.
 */
export function actorOf(
  call: Pick<Call, 'id' | 'address' | 'principal'>,
  principal: AuditPrincipal | undefined = principalOf(call.principal),
): Actor {
  const { kind, id, name } = principal ?? ANONYMOUS
  return { kind, id, name, address: call.address, requestId: call.id }
}

const principalOf = (principal: Principal | undefined): AuditPrincipal | undefined =>
  principal && { kind: principal.kind, id: principal.subject, name: principal.name }

/** Where time and chance come from. */
export interface Sources {
  readonly clock: Clock
  readonly random: Random
}

/** Records one operation. It is stored if and only if the caller's transaction commits. */
export async function recordAudit(tx: Tx, act: Act, { clock, random }: Sources): Promise<void> {
  const { actor, action, target } = act
  const now = clock.now()
  const id = timeOrderedId('aud_', now, random)
  await tx.run(sql`INSERT INTO gh_audit (id, at, actor_kind, actor_id, actor_name, address,
    request_id, action, target, detail)
    VALUES (${id}, ${now}, ${actor.kind}, ${actor.id}, ${actor.name ?? null},
            ${actor.address ?? null}, ${actor.requestId ?? null}, ${action}, ${target},
            ${JSON.stringify(act.detail ?? {})})`)
}
