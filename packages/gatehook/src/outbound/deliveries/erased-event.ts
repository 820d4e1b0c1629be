/** Erases the person of an event in the event's deliveries (§18.11). */
import type { Scope } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { type BodyRenderer, deliveryIdOf, renderBody } from './outbox.ts'

const versions = prepareStatement(
  'SELECT version FROM gh_event_bodies WHERE scope = ? AND event_id = ?',
)
const removeBody = prepareStatement(
  'DELETE FROM gh_event_bodies WHERE scope = ? AND event_id = ? AND version = ?',
)
const replaceBody = prepareStatement(
  'UPDATE gh_event_bodies SET body = ? WHERE scope = ? AND event_id = ? AND version = ?',
)
/** The ids of the deliveries of an event begin with that of the event, and end with a tag. */
const clearAttempts = prepareStatement(`UPDATE gh_deliveries SET attempts = NULL
  WHERE scope = ? AND id > ? AND id < ? AND attempts IS NOT NULL`)
const AFTER_TAGS = '{'

/** Removes the responses of receivers to an event. */
export async function eraseResponses(tx: Tx, scope: Scope, eventId: string): Promise<void> {
  const prefix = deliveryIdOf(eventId, '')
  await tx.run(clearAttempts([scope, prefix, prefix + AFTER_TAGS]))
}

/** Replaces the bodies of an event, and removes the responses of receivers. */
export async function eraseDeliveredEvent(
  tx: Tx,
  renderer: BodyRenderer,
  event: Parameters<typeof renderBody>[1] & { readonly scope: Scope },
): Promise<void> {
  const { scope, id } = event
  for (const [version] of await tx.arrays(versions([scope, id]))) {
    const body = renderBody(renderer, event, String(version))
    if (body === undefined) await tx.run(removeBody([scope, id, version!]))
    else await tx.run(replaceBody([body, scope, id, version!]))
  }
  await eraseResponses(tx, scope, id)
}
