/** `GET /events`, `GET /events/{id}` and `POST /events` (§9.11). The stream is in `stream.ts`. */

import { Failure } from '../../kernel/failure.ts'
import { personIdOf } from '../../kernel/principal.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Call, Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { prepareEvent } from './by-id.ts'
import { envelope, type RenderObject } from './event.ts'
import type { EventOperations } from './operations.ts'
import type { RecordEvent } from './store.ts'
import { withTypeNames } from './type-names.ts'
import {
  EVENT_COLUMNS,
  type EventCells,
  eventListFor,
  eventListOf,
  eventView,
  type ReadableTypes,
} from './view.ts'

const byId = prepareEvent(EVENT_COLUMNS)

interface EventDeps {
  readonly db: Database
  readonly list: Lister
  readonly perform: Perform
  readonly record: RecordEvent
  readonly render: RenderObject
  /** Validates an object in a version, by default the newest. Returns JSON text of the newest. */
  readonly readObject: (type: string, object: unknown, version: string | undefined) => string
  readonly readableTypes: ReadableTypes
  /** Every type that the service and the engine emit. */
  readonly declaredTypes: Iterable<string>
  readonly operations: EventOperations
  /** Returns the version that serves callers pinned to `version`: its successor after sunset. */
  readonly effective?: (version: string) => string
}

/** Returns the version of events for a caller: its pin, or undefined for the newest. */
export const servedVersion = (
  call: Call,
  effective: EventDeps['effective'],
): string | undefined => {
  const pinned = call.principal?.version
  return pinned === undefined || !effective ? pinned : effective(pinned)
}

export function eventRoutes(deps: EventDeps): Route[] {
  const { db, list, perform, record, render, readObject, readableTypes, effective } = deps
  const { operations } = deps
  const allTypes = withTypeNames(eventListFor(db.dialect), 'type', deps.declaredTypes)
  const view = (call: Call) => eventView(servedVersion(call, effective), render)
  return [
    implement(operations.list, (call) =>
      list(call, eventListOf(allTypes, readableTypes(call.principal!)), view(call)),
    ),
    // Records an event of an existing backend. Throws 413 for an object beyond 256 KiB.
    implement(operations.post, (call, input) => {
      const version = servedVersion(call, effective)
      const object = readObject(input.type, input.object, version)
      const { scope } = call.principal!
      const change = async (tx: Tx) => {
        const none = { collection: undefined, objectId: undefined }
        const event = { type: input.type, ...none, subject: personIdOf(call.principal!), object }
        const storedEvent = await record(tx, scope, event)
        const location = `/events/${storedEvent.id}`
        const text = render(storedEvent, version)
        return { status: 201, json: envelope(storedEvent, text), headers: { location } }
      }
      return perform(call, change, { scope })
    }),
    implement(operations.read, async (call) => {
      const [row] = await db.arrays(byId([call.principal!.scope, call.params.id]))
      const [, type] = (row ?? []) as unknown as EventCells
      if (!row || readableTypes(call.principal!)?.includes(type) === false) {
        throw new Failure('not_found')
      }
      return { status: 200, json: view(call).item(row, {}) }
    }),
  ]
}
