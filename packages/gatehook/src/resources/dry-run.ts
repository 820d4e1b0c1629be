/**
 * Dry runs of the writes of a service (`Prefer: dry-run`): the response that the write would give,
 * with a report of its events and deliveries in `_dry_run`. Nothing is stored.
 */
import { holdsScope } from '../access/scopes.ts'
import { type PlannedDelivery, readDeliveriesOfEvent } from '../deliveries/log-store.ts'
import { collectEvents } from '../events/collector.ts'
import type { StoredEvent } from '../events/event.ts'
import { readableTypes } from '../events/event-access.ts'
import type { Answer, Call } from '../http/call.ts'
import { hasDryRunParameter, prefersDryRun } from '../idempotency/dry-run.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Tx } from '../storage/database.ts'
import type { Catalog } from './catalog.ts'
import type { ServiceEventTypes } from './event-types.ts'

/** Events whose objects and deliveries a report contains. */
const REPORTED_EVENTS_MAX = 1_000
/** The scope that reads deliveries. */
const DELIVERY_SCOPE = 'webhooks:read'

interface DryRunDeps {
  readonly catalog: Pick<Catalog, 'render'>
  readonly types: ServiceEventTypes
  readonly perform: Perform
}

/**
 * Returns `perform` with dry runs. `hasParameter`: `?dry_run=true` requests one too; routes of the
 * team declare their parameters themselves.
 */
export function performDryRuns(
  { perform, ...deps }: DryRunDeps,
  { hasParameter }: { readonly hasParameter: boolean },
): Perform {
  return (call, change, options) => {
    const isDryRun = prefersDryRun(call) || (hasParameter && hasDryRunParameter(call))
    if (!isDryRun) return perform(call, change, options)
    call.out['preference-applied'] = 'dry-run'
    const rehearsed = async (tx: Tx): Promise<Answer> => {
      const events = collectEvents(tx)
      const answer = await change(tx)
      return addReport(answer, await describeEffects(tx, call, events, deps))
    }
    return perform(call, rehearsed, { ...options, isDryRun: true })
  }
}

interface Effects {
  /** The number of all events, also of those that the caller cannot read. */
  readonly event_count: number
  readonly events: readonly { readonly type: string; readonly data: { readonly object: unknown } }[]
  /** Undefined for a caller who cannot read deliveries. */
  readonly deliveries?: readonly PlannedDelivery[]
}

/** Describes the events and deliveries that the caller could read after the write (§9.14). */
async function describeEffects(
  tx: Tx,
  call: Call,
  events: readonly StoredEvent[],
  { catalog, types }: Omit<DryRunDeps, 'perform'>,
): Promise<Effects> {
  const principal = call.principal!
  const readable = readableTypes(types, principal)
  const visible = events
    .filter(({ type }) => readable?.includes(type) ?? true)
    .slice(0, REPORTED_EVENTS_MAX)
  const hasDeliveries = principal.kind !== 'person' && holdsScope(principal, DELIVERY_SCOPE)
  const deliveries: PlannedDelivery[] = []
  for (const { scope, id } of hasDeliveries ? visible : []) {
    deliveries.push(...(await readDeliveriesOfEvent(tx, scope, id)))
  }
  return {
    event_count: events.length,
    events: visible.map(({ type, collection, object, shape }) => ({
      type,
      data: { object: JSON.parse(catalog.render(collection, object, shape, call.version)) },
    })),
    ...(hasDeliveries && { deliveries }),
  }
}

/**
 * Adds the report to a JSON object. A response without a body becomes a 200 with the report alone.
 * Entity tag and location would name a row that is not stored.
 */
function addReport(answer: Answer, effects: Effects): Answer {
  const { status, json } = answer
  const headers = Object.entries(answer.headers ?? {}).filter(
    ([name]) => !/^(etag|location)$/i.test(name),
  )
  const report = `"_dry_run":${JSON.stringify({ status, ...effects })}}`
  const rest = { ...answer, headers: Object.fromEntries(headers) }
  if (answer.raw !== undefined || answer.stream) return rest
  if (json === undefined) return { ...rest, status: 200, json: `{${report}` }
  if (!json.startsWith('{')) return rest
  return { ...rest, json: json === '{}' ? `{${report}` : `${json.slice(0, -1)},${report}` }
}
