/**
 * Dry runs of the writes of a service (`Prefer: dry-run`): the response that the write would give,
 * with a report of its events and deliveries in `_dry_run`. Nothing is stored.
 */

import { collectEvents } from '../../history/events/collector.ts'
import type { StoredEvent } from '../../history/events/event.ts'
import { holdsScope } from '../../identity/access/scopes.ts'
import { readDeliveriesOfEvent } from '../../outbound/deliveries/log-store.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { AnswerBudget } from '../../protocol/http/answer-budget.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { hasDryRunParameter, prefersDryRun } from '../../protocol/idempotency/dry-run.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
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
      const budget = new AnswerBudget()
      budget.take(answer.json ?? '')
      return addReport(answer, await describeEffects({ tx, call, events, budget }, deps))
    }
    return perform(call, rehearsed, { ...options, isDryRun: true })
  }
}

/** A dry run before its rollback. */
interface DryRunEffects {
  readonly tx: Tx
  readonly call: Call
  readonly events: readonly StoredEvent[]
  /** The bytes of the response that the report can use. */
  readonly budget: AnswerBudget
}

/**
 * Returns the members of the report (§9.14): the number of all events, also of those that the
 * caller cannot read; the events and deliveries that the caller could read after the write, as many
 * as fit; no deliveries for a caller who cannot read them.
 */
async function describeEffects(
  { tx, call, events, budget }: DryRunEffects,
  { catalog, types }: Omit<DryRunDeps, 'perform'>,
): Promise<string> {
  const principal = call.principal!
  const readable = types.readableTypes(principal)
  const visible = events.filter(({ type }) => readable?.includes(type) ?? true)
  const hasDeliveries = principal.kind !== 'person' && holdsScope(principal, DELIVERY_SCOPE)
  const eventTexts: string[] = []
  const deliveryTexts: string[] = []
  const work = call.startWork()
  const render = work.measure((event: StoredEvent) => catalog.render(event, call.version))
  for (const event of visible) {
    const { scope, id, type } = event
    const text = render(event)
    await work.count(text.length)
    const eventText = `{"type":${JSON.stringify(type)},"data":{"object":${text}}}`
    if (eventTexts.length === REPORTED_EVENTS_MAX || !budget.take(eventText)) break
    eventTexts.push(eventText)
    for (const delivery of hasDeliveries ? await readDeliveriesOfEvent(tx, scope, id) : []) {
      const deliveryText = JSON.stringify(delivery)
      if (budget.take(deliveryText)) deliveryTexts.push(deliveryText)
    }
  }
  const deliveries = hasDeliveries ? `,"deliveries":[${deliveryTexts.join(',')}]` : ''
  return `"event_count":${events.length},"events":[${eventTexts.join(',')}]${deliveries}`
}

/**
 * Adds the report to a JSON object. A response without a body becomes a 200 with the report alone.
 * Entity tag and location would name a row that is not stored.
 */
function addReport(answer: Answer, effects: string): Answer {
  const { status, json } = answer
  const headers = Object.entries(answer.headers ?? {}).filter(
    ([name]) => !/^(etag|location)$/i.test(name),
  )
  const report = `"_dry_run":{"status":${status},${effects}}}`
  const rest = { ...answer, headers: Object.fromEntries(headers) }
  if (answer.raw !== undefined || answer.stream) return rest
  if (json === undefined) return { ...rest, status: 200, json: `{${report}` }
  if (!json.startsWith('{')) return rest
  return { ...rest, json: json === '{}' ? `{${report}` : `${json.slice(0, -1)},${report}` }
}
