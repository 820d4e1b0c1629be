/** The endpoints of `.route(…)` (§6.8): the team's handlers in the engine's pipeline. */
import { actorOf } from '../../history/audit/store.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Answer, Call, Endpoint } from '../../protocol/http/call.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import { reachesRoute } from './agent-reach.ts'
import { handled } from './awaited-words.ts'
import { inCallersTerms } from './caller-terms.ts'
import type { Catalog } from './catalog.ts'
import { mediaOperation } from './media.ts'
import { ownPrincipalOf } from './own-principal.ts'
import { fetchUntil, wordsOfCall } from './own-words.ts'
import type { RouteDefinition } from './route.ts'
import { createRouteReader } from './route-input.ts'
import { createOutputEncoder, limitsOfRoute } from './route-output.ts'
import { createRowViews } from './row-views.ts'
import { callersReach, createServiceReader, type OwnTx, withServiceTx } from './service-tx.ts'
import type { AnswerRequests } from './step-answers.ts'

interface CustomRouteDeps {
  readonly db: Database
  readonly perform: Perform
  readonly record: RecordEvent
  readonly answerSteps: AnswerRequests
  /** Creates the handler of a route that an upstream answers. */
  readonly forward: (route: RouteDefinition) => (call: Call) => Promise<Answer>
  /** `fetch` to allowed addresses. */
  readonly fetch: typeof fetch
}

/** The longest request of a GET route to another system. */
const FETCH_MAX_MS = 25_000

export function customEndpoints(catalog: Catalog, deps: CustomRouteDeps): Endpoint[] {
  const endpointByPath = new Map<string, Endpoint>()
  for (const route of catalog.service.routes) {
    const path = `/api${route.path}`
    const operation = {
      scope: route.scope,
      mcp: reachesRoute(route),
      ...mediaOperation(route),
      handle: handlerOf(catalog, deps, route),
    }
    const methods = { ...endpointByPath.get(path)?.methods, [route.method]: operation }
    endpointByPath.set(path, { kind: 'api', path, methods })
  }
  return [...endpointByPath.values()]
}

function handlerOf(catalog: Catalog, deps: CustomRouteDeps, route: RouteDefinition) {
  if (route.forward) return deps.forward(route)
  return route.steps ? deps.answerSteps(route) : createHandler(catalog, deps, route)
}

function createHandler(catalog: Catalog, deps: CustomRouteDeps, route: RouteDefinition) {
  const readRequest = createRouteReader(catalog, route)
  const encode = createOutputEncoder(route, catalog.versions)
  const limits = limitsOfRoute(catalog, route)
  return async (call: Call): Promise<Answer> => {
    const principal = call.principal!
    const views = createRowViews(catalog, call.version!, principal)
    const reach = callersReach(principal)
    const { chain, ...request } = readRequest(call)
    const context = {
      ...wordsOfCall(call, catalog.ownLog),
      principal: ownPrincipalOf(principal),
      version: call.version!,
      params: call.params,
      ...request,
      show: views.show,
    }
    if (route.method === 'GET') {
      const now = catalog.clock.now()
      const timed = () => AbortSignal.any([call.signal, AbortSignal.timeout(FETCH_MAX_MS)])
      const network = { fetch: fetchUntil(deps.fetch, timed), write: rejectWrite }
      const turns = catalog.readTurns.open(principal.scope)
      const read = createServiceReader(catalog, turns, reach, deps.db, views)
      const handle = () => route.handle({ ...context, ...network, now, read })
      // A caller that goes away leaves no reads behind, and neither does code that fails.
      const { signal } = call
      signal.addEventListener('abort', () => turns.end(signal.reason), { once: true })
      let answer: Answer | undefined
      try {
        answer = encode(await inCallersTerms({ chain }, handle), views)
        return answer
      } finally {
        // The parts of a stream may read, too.
        if (!answer?.stream) turns.end()
      }
    }
    const access = { principal, actor: actorOf(call), reach, record: deps.record, views }
    // The whole handler is one transaction, and its response commits with it.
    const change = (tx: Tx) =>
      withServiceTx(catalog, access, tx, async (serviceTx, { track }) => {
        // A write that fails is undone, as in steps and jobs.
        const write = track('write', (change: (tx: OwnTx) => unknown) =>
          serviceTx.sql.attempt(async () => change(serviceTx)),
        )
        const { now } = serviceTx
        const handle = () =>
          route.handle({ ...context, now, read: serviceTx, write, fetch: rejectFetch })
        return encode(await inCallersTerms({ chain }, handle), views)
      })
    return deps.perform(call, change, { serializable: true, scope: principal.scope, limits })
  }
}

const rejectFetch = handled(async (): Promise<never> => {
  throw new Error('a route that writes is a transaction: call other systems in steps: true')
})

const rejectWrite = (): never => {
  throw new Error('a GET route cannot write')
}
