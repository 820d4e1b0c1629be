/** Assembles the endpoints of the service: those of its resources, and its own routes. */

import type { Catalog } from '../declare/resources/catalog.ts'
import { customEndpoints } from '../declare/resources/custom-routes.ts'
import { performDryRuns } from '../declare/resources/dry-run.ts'
import type { ServiceEventTypes } from '../declare/resources/event-types.ts'
import { createRowPurge } from '../declare/resources/purge.ts'
import { purgeRepeatKeys } from '../declare/resources/repeat-keys.ts'
import { resourceEndpoints } from '../declare/resources/routes.ts'
import type { AnswerRequests } from '../declare/resources/step-answers.ts'
import type { RecordEvent } from '../history/events/store.ts'
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
}

export function assembleResources(
  { db, clock, vault }: Foundation,
  { catalog, types, list, perform, record, limitItems, answerSteps, fetch }: ResourceAssembly,
): Component {
  const exportRows = createExporter({ db, cursorKeys: vault.macKeys('cursor') })
  const deps = { catalog, types, perform }
  const writes = performDryRuns(deps, { hasParameter: true })
  const ownWrites = performDryRuns(deps, { hasParameter: false })
  return {
    endpoints: [
      ...resourceEndpoints(catalog, { db, list, exportRows, perform: writes, limitItems }),
      ...customEndpoints(catalog, { db, perform: ownWrites, record, answerSteps, fetch }),
    ],
    chores: {
      own_keys: () => purgeRepeatKeys(db, clock.now()),
      ...(catalog.service.resources.some(({ softDeletion }) => softDeletion) && {
        deleted_rows: createRowPurge(catalog.service, { db, clock }),
      }),
    },
  }
}
