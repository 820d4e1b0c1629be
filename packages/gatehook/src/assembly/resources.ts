/** Assembles the endpoints of the service: those of its resources, and its own routes. */

import { createAssertedPrincipal } from '../declare/forwards/asserted-principal.ts'
import { configureUpstreams } from '../declare/forwards/configuration.ts'
import { createForwarder } from '../declare/forwards/forward-routes.ts'
import type { Catalog } from '../declare/resources/catalog.ts'
import { customEndpoints } from '../declare/resources/custom-routes.ts'
import { performDryRuns } from '../declare/resources/dry-run.ts'
import type { ServiceEventTypes } from '../declare/resources/event-types.ts'
import { createRowPurge } from '../declare/resources/purge.ts'
import { purgeRepeatKeys } from '../declare/resources/repeat-keys.ts'
import { resourceEndpoints } from '../declare/resources/routes.ts'
import type { AnswerRequests } from '../declare/resources/step-answers.ts'
import type { RecordEvent } from '../history/events/store.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import type { SignAssertion } from '../identity/tokens/assertion.ts'
import { createLazyUpstreams } from '../outbound/transport/lazy-transport.ts'
import type { Tx } from '../platform/storage/database.ts'
import type { Call } from '../protocol/http/call.ts'
import { createPerformOutside } from '../protocol/idempotency/outside.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import { createExporter } from '../protocol/lists/export.ts'
import type { Lister } from '../protocol/lists/list.ts'
import type { LimitItems } from '../protocol/quota/steps.ts'
import type { Component, Foundation } from './foundation.ts'

interface ResourceAssembly {
  readonly catalog: Catalog
  readonly types: ServiceEventTypes
  readonly list: Lister
  readonly perform: Perform
  readonly record: RecordEvent
  readonly limitItems: LimitItems
  readonly answerSteps: AnswerRequests
  readonly fetch: typeof fetch
  readonly tokens: Pick<Tokens, 'signAssertion'>
  readonly recordChange: (tx: Tx, call: Call) => Promise<void>
}

export function assembleResources(foundation: Foundation, assembly: ResourceAssembly): Component {
  const { db, clock, vault } = foundation
  const { catalog, types, list, perform, record, limitItems, answerSteps, fetch } = assembly
  const { forward, close } = assembleForwards(foundation, assembly)
  const exportRows = createExporter({ db, cursorKeys: vault.macKeys('cursor') })
  const deps = { catalog, types, perform }
  const writes = performDryRuns(deps, { hasParameter: true })
  const ownWrites = performDryRuns(deps, { hasParameter: false })
  return {
    endpoints: [
      ...resourceEndpoints(catalog, { db, list, exportRows, perform: writes, limitItems }),
      ...customEndpoints(catalog, { db, perform: ownWrites, record, answerSteps, fetch, forward }),
    ],
    chores: {
      own_keys: () => purgeRepeatKeys(db, clock.now()),
      ...(catalog.service.resources.some(({ softDeletion }) => softDeletion) && {
        deleted_rows: createRowPurge(catalog.service, { db, clock }),
      }),
    },
    stop: close,
  }
}

/** Commands run without the variables of upstreams. */
function assembleForwards(
  { db, clock, vault, config, isCommand }: Foundation,
  { catalog, tokens, recordChange }: ResourceAssembly,
) {
  const declared = isCommand ? [] : catalog.service.upstreams
  const upstreams = configureUpstreams(declared, config.variable)
  const { send, close } = createLazyUpstreams(clock)
  const performOutside = createPerformOutside({ db, clock, vault, recordChange })
  const assertedPrincipal = createAssertedPrincipal(catalog.service)
  const signAssertion: SignAssertion = (request) =>
    tokens.signAssertion({ ...request, principal: assertedPrincipal(request.principal) })
  const deps = { clock, upstreams, send, signAssertion, performOutside }
  return { forward: createForwarder(catalog, deps), close }
}
