/** `GET /deliveries/{id}/request`: the signed requests of a delivery, to debug a receiver. */
import type { Call } from '../../protocol/http/call.ts'
import { deliveryAt } from './delivery-log.ts'
import { computeRequests } from './one-delivery.ts'
import type { WebhookContext } from './registrations.ts'

/** Returns the URL, the body and the headers of each attempt. Throws 404 like the delivery. */
export async function readSentRequest(context: WebhookContext, call: Call) {
  const { row, registration } = await deliveryAt(context, call, context.db)
  const { body, attempts } = await computeRequests(context, row)
  return {
    delivery_id: row.id,
    url: attempts.at(-1)?.request_url ?? registration.url,
    body: body ?? null,
    attempts: attempts.map(({ n, at, request_url: url, request_headers: headers }) => ({
      n,
      at,
      url,
      headers,
    })),
  }
}
