/**
 * Replays to a caller without a right that it had at the first request (§11.1): the stored rows
 * must be within its reach, and have no field that it does not see.
 */

import { Failure } from '../../kernel/failure.ts'
import { entityTag } from '../../protocol/http/conditional.ts'
import type { NarrowReplay } from '../../protocol/idempotency/outcome.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { AnyRow } from './resource.ts'

/** The rows of a response: that of a single operation, or those that a batch created. */
function rowsOf(body: Record<string, unknown>, isBatch: boolean): AnyRow[] {
  if (!isBatch) return [body as AnyRow]
  const items = body.items as readonly { readonly status: number; readonly body: AnyRow }[]
  return items.filter(({ status }) => status === 201).map((item) => item.body)
}

export const narrowRows =
  (entry: CatalogEntry): NarrowReplay =>
  async (call, from, answer) => {
    if (answer.json === undefined) return answer
    const reach = entry.reach(call.principal, 'change')
    const { hidden } = entry.shapes.get(call.version!)!.as(call.principal)
    const body = JSON.parse(answer.json) as Record<string, unknown>
    for (const row of rowsOf(body, call.route.endsWith(`/api/${entry.definition.name}/batch`))) {
      if (!(await entry.rows.store.find(from, reach, row.id))) throw new Failure('not_found')
      for (const name of hidden) delete row[name]
    }
    const json = JSON.stringify(body)
    const hasTag = answer.headers?.etag !== undefined
    const headers = { ...answer.headers, ...(hasTag && { etag: entityTag(json) }) }
    return { ...answer, json, headers }
  }
