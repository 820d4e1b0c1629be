/** `/webhooks` and `/deliveries` (§9.1 to §9.4, §9.10, §9.14): paths, scopes and handlers. */
import type { Answer, Call, Endpoint, Operation } from '../http/call.ts'
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

const READ = 'webhooks:read'
const WRITE = 'webhooks:write'

export function webhookEndpoints({ desk, list, tests }: WebhookRoutes): Endpoint[] {
  const post = (body: 'required' | 'optional', handle: Operation['handle']): Operation => ({
    scope: WRITE,
    body,
    handle,
  })
  const at = (path: string, methods: Endpoint['methods']): Endpoint => ({
    kind: 'root',
    path,
    methods,
  })
  return [
    at('/webhooks', {
      GET: { scope: READ, handle: (call) => list(call, registrationList, registrationView) },
      POST: post('required', async (call) => register(desk, call)),
    }),
    at('/webhooks/:id', {
      GET: { scope: READ, handle: (call) => shown(desk, call) },
      PATCH: { scope: WRITE, body: 'required', handle: async (call) => change(desk, call) },
      DELETE: { scope: WRITE, handle: (call) => remove(desk, call) },
    }),
    at('/webhooks/:id/test', {
      POST: post('required', async (call) => sendTest(desk, tests, call)),
    }),
    at('/webhooks/:id/rotate-secret', {
      POST: post('optional', async (call) => rotateSecret(desk, call)),
    }),
    at('/webhooks/:id/deliveries', {
      GET: { scope: READ, handle: (call) => deliveries(desk, list, call) },
    }),
    at('/webhooks/:id/recover', {
      POST: post('required', async (call) => startRecovery(desk, call)),
    }),
    at('/webhooks/:id/replay', {
      POST: post('required', async (call) => startReplay(desk, call)),
      DELETE: { scope: WRITE, handle: (call) => stopReplay(desk, call) },
    }),
    at('/deliveries/:id', {
      GET: {
        scope: READ,
        handle: async (call) => ({
          status: 200,
          json: shownDelivery(await deliveryAt(desk, call, desk.db)),
        }),
      },
    }),
    at('/deliveries/:id/resend', {
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
