/** Records webhooks that were sent for events that a promoted standby lacks, in the audit trail. */
import { recordAudit } from '../../history/audit/store.ts'
import { openSigner } from '../../history/audit/trail.ts'
import { findLostEvents, type RecentEvent } from '../../history/events/lost-events.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Random } from '../../kernel/random.ts'
import type { RecentItems } from '../../kernel/recent-items.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { PostDelivery } from './ports.ts'

/** A webhook that this node has sent. */
export interface RecentWebhook extends RecentEvent {
  readonly delivery: string
  readonly webhook: string
}

/** Returns the POST of an attempt, which notes the webhook. */
export const noteWebhooks =
  (recent: RecentItems<RecentWebhook>, post: PostDelivery): PostDelivery =>
  (registration, due, attempt) => {
    const { scope, id: webhook } = registration
    recent.add({ scope, id: due.eventId, type: due.eventType, delivery: due.id, webhook })
    return post(registration, due, attempt)
  }

interface WebhookLossReport {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly log: Log
  /** The name of this node. */
  readonly node: string
  readonly recent: RecentItems<RecentWebhook>
}

/** Webhooks that one row of the audit trail lists; further ones have further rows. */
const LISTED_MAX = 100

/** Returns the report of sent webhooks: rows of the audit trail for each registration. */
export function reportLostWebhooks({ db, log, recent, ...context }: WebhookLossReport) {
  let webhooks: readonly RecentWebhook[] = []
  return async (): Promise<void> => {
    webhooks = [...webhooks, ...recent.take()]
    const lost = await findLostEvents(db, webhooks)
    const trail = await openSigner({ db, ...context })
    if (lost.length > 0 && trail) {
      const actor = { kind: 'system', id: 'database' } as const
      await db.write(async (tx) => {
        for (const [webhook, sent] of Map.groupBy(lost, (item) => item.webhook)) {
          for (let at = 0; at < sent.length; at += LISTED_MAX) {
            const events = sent
              .slice(at, at + LISTED_MAX)
              .map(({ id, type, delivery }) => ({ id, type, delivery }))
            const entry = { actor, action: 'webhook.lost_events', target: webhook }
            await recordAudit(tx, { ...entry, detail: { events } }, { ...context, trail })
          }
        }
      })
      const ids = [...new Set(lost.map(({ webhook }) => webhook))].slice(0, LISTED_MAX)
      const fields = { lost_webhooks: lost.length, webhooks: ids }
      log.warn(fields, 'this node sent webhooks for events that the promoted standby lacks')
    }
    webhooks = []
  }
}
