/** `/webhooks` and `/deliveries` (§9.1 to §9.4, §9.10, §9.14): paths and handlers. */
import { type Answer, type Call, type Handling, type Route, route } from '../http/call.ts'
import { readMembers } from '../kernel/members.ts'
import type { Lister } from '../lists/list.ts'
import { deliveriesFor, deliveryAt, deliveryView, shownDelivery, withStoredState } from './log.ts'
import { registrationList, registrationView } from './registration.ts'
import { change, register, registrationAt, remove, rotateSecret } from './registrations.ts'
import { registrationText } from './replay-progress.ts'
import { type ReplayDesk, startRecovery, startReplay, stopReplay } from './replays.ts'
import { resend } from './resend.ts'
import { sendTest, type TestDeps } from './test-delivery.ts'

export interface WebhookRoutes {
  readonly desk: ReplayDesk
  readonly list: Lister
  readonly tests: TestDeps
}

export function webhookRoutes({ desk, list, tests }: WebhookRoutes): Route[] {
  const post = (body: 'required' | 'optional', handle: Handling['handle']): Handling => ({
    body,
    handle,
  })
  return [
    route('/webhooks', {
      GET: { handle: (call) => list(call, registrationList, registrationView) },
      POST: post('required', async (call) => register(desk, call)),
    }),
    route('/webhooks/:id', {
      GET: { handle: (call) => shown(desk, call) },
      PATCH: { body: 'required', handle: async (call) => change(desk, call) },
      DELETE: { handle: (call) => remove(desk, call) },
    }),
    route('/webhooks/:id/test', {
      POST: post('required', async (call) => sendTest(desk, tests, call)),
    }),
    route('/webhooks/:id/rotate-secret', {
      POST: post('optional', async (call) => rotateSecret(desk, call)),
    }),
    route('/webhooks/:id/deliveries', {
      GET: { handle: (call) => deliveries(desk, list, call) },
    }),
    route('/webhooks/:id/recover', {
      POST: post('required', async (call) => startRecovery(desk, call)),
    }),
    route('/webhooks/:id/replay', {
      POST: post('required', async (call) => startReplay(desk, call)),
      DELETE: { handle: (call) => stopReplay(desk, call) },
    }),
    route('/deliveries/:id', {
      GET: {
        handle: async (call) => ({
          status: 200,
          json: shownDelivery(await deliveryAt(desk, call, desk.db)),
        }),
      },
    }),
    route('/deliveries/:id/resend', {
      POST: post('optional', (call) => resendOne(desk, call)),
    }),
  ]
}

async function shown(desk: ReplayDesk, call: Call): Promise<Answer> {
  const row = await registrationAt(desk, call)
  return { status: 200, json: await registrationText(desk.db, row) }
}

async function deliveries(desk: ReplayDesk, list: Lister, call: Call): Promise<Answer> {
  const row = await registrationAt(desk, call)
  const view = deliveryView(row, row.id, { bodies: false })
  return list(withStoredState(call, row), deliveriesFor(desk, call), view, { owner: row.no })
}

function resendOne(desk: ReplayDesk, call: Call): Promise<Answer> {
  readMembers(call.body ?? {}, {})
  return desk.perform(call, async (tx) => {
    await resend(desk, tx, await deliveryAt(desk, call, tx))
    return { status: 202, json: shownDelivery(await deliveryAt(desk, call, tx)) }
  })
}
