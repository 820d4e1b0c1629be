/** `/webhooks` and `/deliveries` (§9.1 to §9.4, §9.10, §9.14): paths and handlers. */

import { hasWaiting } from '../../history/events/waiting.ts'
import type { Answer, Call, Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import type { BodyRenderer } from '../deliveries/outbox.ts'
import {
  addedStates,
  deliveriesFor,
  deliveryAt,
  deliveryList,
  deliveryText,
  failuresOnly,
  withStoredState,
  withWaiting,
} from './delivery-log.ts'
import { webhookOperations } from './operations.ts'
import { registrationList } from './registration.ts'
import {
  changeRegistration,
  createRegistration,
  deleteRegistration,
  recordOperation,
  registrationAt,
  registrationText,
  rotateSecret,
} from './registrations.ts'
import { type ReplayContext, startRecovery, startReplay, stopReplay } from './replays.ts'
import { resend } from './resend.ts'
import { readSentRequest } from './sent-request.ts'
import { sendTestDelivery } from './test-delivery.ts'

interface WebhookRouteDeps {
  readonly context: ReplayContext
  readonly list: Lister
  /** Renders the sample events of test deliveries. */
  readonly renderer: BodyRenderer
}

export function webhookRoutes({ context, list, renderer }: WebhookRouteDeps): Route[] {
  const operations = webhookOperations({
    eventTypes: [...context.types.collections.keys()],
    allowPrivate: context.allowPrivate,
    versions: context.versions,
  })
  return [
    implement(operations.list, (call) =>
      list(call, registrationList.collection, registrationList.view),
    ),
    implement(operations.create, (call, input) => createRegistration(context, call, input)),
    implement(operations.read, (call) => readRegistration(context, call)),
    implement(operations.update, (call, input) => changeRegistration(context, call, input)),
    implement(operations.remove, (call) => deleteRegistration(context, call)),
    implement(operations.test, (call, input) => sendTestDelivery(context, renderer, call, input)),
    implement(operations.rotateSecret, (call, input) => rotateSecret(context, call, input)),
    implement(operations.deliveries, (call) => listDeliveries(context, list, call)),
    implement(operations.recover, (call, input) => startRecovery(context, call, input)),
    implement(operations.replay, (call, input) => startReplay(context, call, input)),
    implement(operations.stopReplay, (call) => stopReplay(context, call)),
    implement(operations.readDelivery, async (call) => ({
      status: 200,
      json: deliveryText(await deliveryAt(context, call, context.db)),
    })),
    implement(operations.readRequest, async (call) =>
      respond(operations.readRequest, await readSentRequest(context, call)),
    ),
    implement(operations.resend, (call) => resendDelivery(context, call)),
  ]
}

async function readRegistration(context: ReplayContext, call: Call): Promise<Answer> {
  const row = await registrationAt(context, call)
  return { status: 200, json: await registrationText(context.db, row) }
}

async function listDeliveries(context: ReplayContext, list: Lister, call: Call): Promise<Answer> {
  const row = await registrationAt(context, call)
  const added = [addedStates(async () => new Map([[row.no, row]]))]
  const rows = failuresOnly(deliveriesFor(context, call), call)
  const log = (await hasWaiting(context.db, row)) ? withWaiting(rows) : rows
  return list(withStoredState(call, row), log, deliveryList.view, { owner: row.no, added })
}

function resendDelivery(context: ReplayContext, call: Call): Promise<Answer> {
  return context.perform(call, async (tx) => {
    const delivery = await deliveryAt(context, call, tx)
    await resend(context, tx, delivery)
    const { row, registration } = delivery
    const detail = { delivery: row.id, event_type: row.event_type }
    await recordOperation(context, tx, call, { action: 'resend', id: registration.id, detail })
    return { status: 202, json: deliveryText(await deliveryAt(context, call, tx)) }
  })
}
