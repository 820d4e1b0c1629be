/** The audit trail (§12.7): what operators did, written in the transaction of the act. */
import type { Clock } from '../kernel/clock.ts'
import { timeOrderedId } from '../kernel/id.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

/** Who acted: a credential's kind and subject, an operator of the console, the CLI, the engine. */
export interface Actor {
  readonly kind: Principal['kind'] | 'operator' | 'cli' | 'system'
  readonly id: string
}

export interface Act {
  readonly actor: Actor
  /** What was done: `key.create`, `customer.update`. */
  readonly action: string
  /** The id of what it was done to. */
  readonly target: string
  /** What is worth knowing besides; never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>
}

export const actorOf = (principal: Principal): Actor => ({
  kind: principal.kind,
  id: principal.subject,
})

/** Where time and chance come from. */
export interface Sources {
  readonly clock: Clock
  readonly random: Random
}

/** Writes one act down. The caller's transaction decides whether it happened. */
export async function recordAudit(tx: Tx, act: Act, { clock, random }: Sources): Promise<void> {
  const now = clock.now()
  const id = timeOrderedId('aud_', now, random)
  await tx.run(sql`INSERT INTO gh_audit (id, at, actor_kind, actor_id, action, target, detail)
    VALUES (${id}, ${now}, ${act.actor.kind}, ${act.actor.id}, ${act.action}, ${act.target},
            ${JSON.stringify(act.detail ?? {})})`)
}
