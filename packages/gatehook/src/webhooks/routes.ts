/** `/webhooks` and `/deliveries` (§9.1 to §9.4, §9.10, §9.14): paths and handlers. */
import type { BodyRenderer } from '../deliveries/outbox.ts'
import { type Answer, type Call, type Handling, type Route, route } from '../http/call.ts'
import { readMembers } from '../kernel/members.ts'
import type { Lister } from '../lists/list.ts'
import {
  deliveriesFor,
  deliveryAt,
  deliveryListView,
  deliveryText,
  withStoredState,
} from './delivery-log.ts'
import { registrationList, registrationView } from './registration.ts'
import {
  changeRegistration,
  createRegistration,
  deleteRegistration,
  registrationAt,
  registrationText,
  rotateSecret,
} from './registrations.ts'
import { type ReplayContext, startRecovery, startReplay, stopReplay } from './replays.ts'
import { resend } from './resend.ts'
import { sendTestDelivery } from './test-delivery.ts'

interface WebhookRouteDeps {
  readonly context: ReplayContext
  readonly list: Lister
  /** Renders the sample events of test deliveries. */
  readonly renderer: BodyRenderer
}

export function webhookRoutes({ context, list, renderer }: WebhookRouteDeps): Route[] {
  const post = (body: 'required' | 'optional', handle: Handling['handle']): Handling => ({
    body,
    handle,
  })
  return [
    route('/webhooks', {
      GET: { handle: (call) => list(call, registrationList, registrationView) },
      POST: post('required', async (call) => createRegistration(context, call)),
    }),
    route('/webhooks/:id', {
      GET: { handle: (call) => readRegistration(context, call) },
      PATCH: { body: 'required', handle: async (call) => changeRegistration(context, call) },
      DELETE: { handle: (call) => deleteRegistration(context, call) },
    }),
    route('/webhooks/:id/test', {
      POST: post('required', async (call) => sendTestDelivery(context, renderer, call)),
    }),
    route('/webhooks/:id/rotate-secret', {
      POST: post('optional', async (call) => rotateSecret(context, call)),
    }),
    route('/webhooks/:id/deliveries', {
      GET: { handle: (call) => listDeliveries(context, list, call) },
    }),
    route('/webhooks/:id/recover', {
      POST: post('required', async (call) => startRecovery(context, call)),
    }),
    route('/webhooks/:id/replay', {
      POST: post('required', async (call) => startReplay(context, call)),
      DELETE: { handle: (call) => stopReplay(context, call) },
    }),
    route('/deliveries/:id', {
      GET: {
        handle: async (call) => ({
          status: 200,
          json: deliveryText(await deliveryAt(context, call, context.db)),
        }),
      },
    }),
    route('/deliveries/:id/resend', {
      POST: post('optional', (call) => resendDelivery(context, call)),
    }),
  ]
}

async function readRegistration(context: ReplayContext, call: Call): Promise<Answer> {
  const row = await registrationAt(context, call)
  return { status: 200, json: await registrationText(context.db, row) }
}

async function listDeliveries(context: ReplayContext, list: Lister, call: Call): Promise<Answer> {
  const row = await registrationAt(context, call)
  const options = { owner: row.no }
  const collection = deliveriesFor(context, call)
  return list(withStoredState(call, row), collection, deliveryListView(row), options)
}

function resendDelivery(context: ReplayContext, call: Call): Promise<Answer> {
  readMembers(call.body ?? {}, {})
  return context.perform(call, async (tx) => {
    await resend(context, tx, await deliveryAt(context, call, tx))
    return { status: 202, json: deliveryText(await deliveryAt(context, call, tx)) }
  })
}
