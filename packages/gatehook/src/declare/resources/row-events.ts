/** The event of a changed row, and its text, which responses have, too. */
import type { AnnouncedEvent } from '../../history/events/store.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { derivedRefresher } from './derived.ts'
import type { RowReach } from './ownership.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import type { ResourceRows, RowDeps, WrittenRow } from './row-changes.ts'
import type { VersionShape } from './shape.ts'

/**
 * Returns a function that records the event of a changed row, if it has a type. Where a trigger of
 * the team may have changed the values, response and event have those that are stored.
 */
export function eventRecorder(
  definition: ResourceDefinition,
  newest: VersionShape,
  { record, tables }: Pick<RowDeps, 'record' | 'tables'>,
  { store, decode }: Pick<ResourceRows, 'store' | 'decode'>,
) {
  const { name } = definition
  const refreshDerived = derivedRefresher(definition)
  const readStored = async (tx: Tx, scope: number, row: AnyRow) => {
    const cells = await store.find(tx, { scope, owner: undefined }, row.id as RowId)
    if (cells) Object.assign(row, decode(cells)) // of a deleted row, there are none
  }
  return async (
    tx: Tx,
    { scope }: RowReach,
    type: string | undefined,
    row: AnyRow,
    announced?: AnnouncedEvent,
  ): Promise<WrittenRow> => {
    if (refreshDerived) await refreshDerived(tx, scope, row)
    if (tables?.triggered.has(name)) await readStored(tx, scope, row)
    const text = newest.encode(row)
    const event = { collection: name, objectId: row.id as RowId, object: text }
    if (type) await record(tx, scope as Scope, { type, ...event }, announced)
    return { row, text }
  }
}
