/**
 * Runs the rules of a resource in the transaction of a change. They reach every row of the customer
 * and mode, and their values obey the rules of the fields.
 */
import type { RecordEvent } from '../../history/events/store.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Catalog } from './catalog-entry.ts'
import { enterRow } from './changed-rows.ts'
import { ownPrincipalOf } from './own-principal.ts'
import { readRowChanges, requireNoState } from './own-values.ts'
import { wordsOf } from './own-words.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import type { RunRules } from './rows.ts'
import { type OwnTx, type ReachOf, withServiceTx } from './service-tx.ts'

/** Changes by rules of changes by rules, and so on. */
const DEPTH_MAX = 8

/** @param catalog returns the catalog of the resource, which is created after its rows */
export function createRuleRunner(
  definition: ResourceDefinition,
  catalog: () => Catalog,
  record: RecordEvent,
): RunRules {
  const depthByTx = new WeakMap<Tx, number>()
  const { name } = definition
  return async (tx, { reach: { scope, principal }, actor }, operation, { before, after }) => {
    const rules = definition.rules.filter((rule) => rule.operation === operation)
    // The engine's own changes, such as sample rows, have no principal.
    if (rules.length === 0 || !principal) return {}
    const depth = (depthByTx.get(tx) ?? 0) + 1
    if (depth > DEPTH_MAX) throw new Error(`rules of ${name} cause each other without an end`)
    depthByTx.set(tx, depth)
    const leave = enterRow(tx, definition, (before ?? after)?.id)
    const reach: ReachOf = () => ({ scope, owner: undefined, principal })
    const views = { register: (_entry: unknown, row: AnyRow) => row }
    const access = { principal, actor, reach, record, views }
    const newest = catalog().rowsOf(name).newest
    const words = wordsOf(tx, catalog().ownLog)
    const completion: AnyRow = {}
    const run = async (ownTx: OwnTx) => {
      for (const { rule } of rules) {
        const current = after && { ...after, ...completion }
        const { lock, now } = ownTx
        const args = {
          ...words,
          tx: ownTx,
          lock,
          now,
          principal: ownPrincipalOf(principal),
          before,
          after: current,
        }
        const values = (await rule(args)) as AnyRow | undefined
        if (values === undefined) continue
        const source = `rule ${operation} of ${name}`
        requireNoState(definition, source, values)
        Object.assign(completion, readRowChanges(newest, source, values, (before ?? after)!))
      }
    }
    try {
      await withServiceTx(catalog(), access, tx, run)
    } finally {
      leave()
      depthByTx.set(tx, depth - 1)
    }
    return completion
  }
}
