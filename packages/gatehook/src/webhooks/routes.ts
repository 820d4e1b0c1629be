/** `/webhooks` and `/deliveries` (§9.1 to §9.4, §9.10). What the calls do is said elsewhere. */
import { type Answer, type Call, type Endpoint, json, type Operation } from '../http/call.ts'
import { instant, invalidMembers, optional, readMembers, required } from '../kernel/members.ts'
import type { Lister } from '../lists/list.ts'
import { type AgainDeps, recover, replay, sendAgain } from './again.ts'
import { deliveriesFor, deliveryAt, deliveryView, shownDelivery, withStoredState } from './log.ts'
import { membersOf, registrationsFor, registrationView, shownRegistration } from './registration.ts'
import {
  change,
  type Desk,
  register,
  registrationAt,
  remove,
  rotateSecret,
} from './registrations.ts'
import { type TrialDeps, tryOut } from './trial.ts'

export interface WebhookRoutes {
  readonly desk: Desk
  readonly list: Lister
  readonly again: AgainDeps
  readonly trial: TrialDeps
}

const READ = 'webhooks:read'
const WRITE = 'webhooks:write'

export function webhookEndpoints({ desk, list, again, trial }: WebhookRoutes): Endpoint[] {
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
  const listed = (call: Call) => {
    const visible = registrationsFor(desk.seesWhole(call.principal!), desk.types)
    return list(call, visible, registrationView)
  }
  return [
    at('/webhooks', {
      GET: { scope: READ, handle: listed },
      POST: post('required', async (call) => register(desk, call)),
    }),
    at('/webhooks/:id', {
      GET: { scope: READ, handle: (call) => shown(desk, call) },
      PATCH: { scope: WRITE, body: 'required', handle: async (call) => change(desk, call) },
      DELETE: { scope: WRITE, handle: (call) => remove(desk, call) },
    }),
    at('/webhooks/:id/test', {
      POST: post('required', async (call) => tryOut(desk, trial, call)),
    }),
    at('/webhooks/:id/rotate-secret', {
      POST: post('optional', async (call) => rotateSecret(desk, call)),
    }),
    at('/webhooks/:id/deliveries', {
      GET: { scope: READ, handle: (call) => deliveries(desk, list, call) },
    }),
    at('/webhooks/:id/recover', {
      POST: post('required', (call) => recovering(desk, again, call)),
    }),
    at('/webhooks/:id/replay', {
      POST: post('required', (call) => replaying(desk, again, call)),
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
      POST: post('optional', (call) => resend(desk, again, call)),
    }),
  ]
}

async function shown(desk: Desk, call: Call): Promise<Answer> {
  return { status: 200, json: shownRegistration(await registrationAt(desk, call)) }
}

async function deliveries(desk: Desk, list: Lister, call: Call): Promise<Answer> {
  const row = await registrationAt(desk, call)
  const view = deliveryView(row, row.id)
  return list(withStoredState(call, row), deliveriesFor(desk, call), view, { owner: row.no })
}

function resend(desk: Desk, again: AgainDeps, call: Call): Promise<Answer> {
  readMembers(call.body ?? {}, {})
  return desk.perform(call, async (tx) => {
    await sendAgain(again, tx, await deliveryAt(desk, call, tx))
    return { status: 202, json: shownDelivery(await deliveryAt(desk, call, tx)) }
  })
}

/** Throws 422 for an instant that lies ahead: nothing happened since. */
function past(desk: Desk, since: number): number {
  if (since <= desk.clock.now()) return since
  const message = 'must not lie in the future'
  throw invalidMembers([{ pointer: '/since', code: 'invalid_value', message }])
}

async function recovering(desk: Desk, again: AgainDeps, call: Call): Promise<Answer> {
  const since = past(desk, readMembers(call.body, { since: required(instant) }).since)
  return counted(desk, call, async () => recover(again, await registrationAt(desk, call), since))
}

async function replaying(desk: Desk, again: AgainDeps, call: Call): Promise<Answer> {
  const members = { since: required(instant), event_types: optional(membersOf(desk).types) }
  const wish = readMembers(call.body, members)
  const since = past(desk, wish.since)
  return counted(desk, call, async () =>
    replay(again, await registrationAt(desk, call), since, wish.event_types),
  )
}

/** The work is many transactions before the one that keeps the answer for a repeat. */
async function counted(desk: Desk, call: Call, work: () => Promise<number>): Promise<Answer> {
  let count = 0
  return desk.perform(
    call,
    async () => json(202, { count }),
    async () => {
      count = await work()
    },
  )
}
