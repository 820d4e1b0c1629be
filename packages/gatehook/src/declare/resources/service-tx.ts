/**
 * The access of own code to rows: reads within the caller's reach, and changes with their events in
 * one transaction.
 */
import type { Actor } from '../../history/audit/actor.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import { Failure, failures } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { isRowId, type RowId } from '../../kernel/row-id.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { timeOf } from '../../platform/storage/transaction-time.ts'
import type { Catalog, CatalogEntry } from './catalog-entry.ts'
import { listEventTypes } from './event-type-list.ts'
import { readChangedValues, readNewValues } from './own-values.ts'
import type { RowOperation, RowReach } from './ownership.ts'
import type { AnyResource, AnyRow } from './resource.ts'
import type { RowViews } from './row-views.ts'

const entryOf = (catalog: Catalog, { definition }: AnyResource): CatalogEntry => {
  const entry = catalog.entries.get(definition.name)
  if (!entry) throw new Error(`the service has no resource ${definition.name}`)
  return entry
}

/**
 * Accesses the row of an id. Throws `not_found` for an id that no row has, such as the number of a
 * malformed parameter. In a job no path of a request names the missing row: the message does.
 */
async function accessRow<T>(
  { definition: { name, fields } }: CatalogEntry,
  { principal }: RowReach,
  id: RowId,
  access: () => Promise<T>,
): Promise<T> {
  try {
    if (!isRowId(fields.id!.idPrefix, id)) throw new Failure('not_found')
    return await access()
  } catch (error) {
    const isUnnamed = error instanceof Failure && error.message === failures.not_found[1]
    if (principal?.kind !== 'job' || !isUnnamed) throw error
    throw new Failure('not_found', `${name} ${id} does not exist`)
  }
}

/** Returns the rows of a resource that the code reaches. */
export type ReachOf = (entry: CatalogEntry, operation: RowOperation) => RowReach

/** The reach of the caller (§6.7). */
export const callersReach =
  (principal: Principal): ReachOf =>
  (entry, operation) =>
    entry.reach(principal, operation)

export function createServiceReader(
  catalog: Catalog,
  reach: ReachOf,
  sql: Reader,
  { register }: Pick<RowViews, 'register'>,
) {
  return {
    sql,
    async get(resource: AnyResource, id: RowId): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      const rowReach = reach(entry, 'read')
      const read = () => entry.rows.get(sql, rowReach, id)
      return register(entry, await accessRow(entry, rowReach, id, read))
    },
  }
}

interface ServiceTxDeps {
  readonly principal: Principal
  readonly actor: Actor | undefined
  readonly reach: ReachOf
  readonly record: RecordEvent
  readonly views: Pick<RowViews, 'register'>
}

/** Creates the `ServiceTx` of a handler: rows, events and SQL in one transaction. */
export function createServiceTx(
  catalog: Catalog,
  { principal, actor, reach, record, views }: ServiceTxDeps,
  sql: Tx,
) {
  const types = listEventTypes(catalog.service)
  const { register } = views
  return {
    ...createServiceReader(catalog, reach, sql, views),
    sql,
    now: timeOf(sql, catalog.clock),
    async lock(resource: AnyResource, id: RowId): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      const target = { reach: reach(entry, 'read'), id }
      const lock = () => entry.rows.lock(sql, target)
      return register(entry, await accessRow(entry, target.reach, id, lock))
    },
    async create(resource: AnyResource, values: AnyRow): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      const source = `tx.create(${entry.definition.name})`
      const row = readNewValues(entry.rows.newest, source, values)
      return register(entry, (await entry.rows.create(sql, reach(entry, 'create'), row)).row)
    },
    async update(resource: AnyResource, id: RowId, patch: AnyRow): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      const target = { reach: reach(entry, 'change'), id, actor }
      const source = `tx.update(${entry.definition.name})`
      const update = () => {
        const { id: patchId = id, ...changes } = readChangedValues(entry.rows.newest, source, patch)
        if (patchId !== id) throw new Error(`${source}: the id of a row never changes`)
        return entry.rows.update(sql, target, () => changes)
      }
      return register(entry, (await accessRow(entry, target.reach, id, update)).row)
    },
    async remove(resource: AnyResource, id: RowId): Promise<void> {
      const entry = entryOf(catalog, resource)
      const target = { reach: reach(entry, 'change'), id, actor }
      return accessRow(entry, target.reach, id, () => entry.rows.remove(sql, target))
    },
    async emit(type: string, object: AnyRow): Promise<void> {
      if (!types.includes(type)) throw new Error(`event type ${type} is not declared`)
      const event = { type, collection: undefined, objectId: undefined }
      await record(sql, principal.scope, { ...event, object: JSON.stringify(object) })
    },
    async enqueue(
      job: { readonly name: string },
      input: AnyRow,
      { runAt }: { readonly runAt?: Date | number } = {},
    ): Promise<string> {
      return catalog.enqueue(sql, principal.scope, { name: job.name, input, runAt })
    },
  }
}
