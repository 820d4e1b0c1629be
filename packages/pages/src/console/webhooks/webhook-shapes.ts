/** The JSON of webhook endpoints in `/admin`, and their words. */
import type { Endpoint, EndpointReport } from '../admin-types.ts'

/** A row of `GET /admin/webhooks`. */
export type WebhookRow = Endpoint

/** `GET /admin/webhooks/{id}/health`. */
export type WebhookHealth = EndpointReport

/** The path of an endpoint under the authority of its customer. */
export const actingPath = ({ customer, mode, id }: WebhookRow): string =>
  `/admin/as/${customer}/${mode}/webhooks/${id}`

/** `12 accepted, 3 late, 0 slow, 1 failed`: the strip for screen readers. */
export function stripWords(attempts: string): string {
  const counts = { o: 0, w: 0, s: 0, x: 0 }
  for (const letter of attempts) if (letter in counts) counts[letter as 'o']++
  if (attempts === '') return 'no attempt'
  return `${counts.o} accepted, ${counts.w} late, ${counts.s} slow, ${counts.x} failed`
}
