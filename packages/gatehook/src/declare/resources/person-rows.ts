/**
 * The rows of a person in a resource, page by page, deleted ones included (§6.7). Rows that belong
 * to the person through other rows are read by these: each statement reads along the index of one
 * reference, so that it passes no rows of other persons. In the order of the id, SQLite would pass
 * all rows of the customer.
 */
import type { Scope } from '../../kernel/principal.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Reader, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { ownerCondition } from '../../protocol/lists/collection.ts'
import { ownerPathOf } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_FIELD, LIVE_ROWS } from './soft-deletion.ts'

/** A row of a resource that signs in. */
export interface PersonPlace {
  readonly scope: Scope
  readonly id: number
}

/** Members of a place for each resource on the way to a row. */
const PLACE_MEMBERS = 2

export interface PersonRow {
  readonly id: RowId
  /** The instant of its deletion, or null, and the id; before them, those of the row it is of. */
  readonly place: readonly Value[]
}

interface PersonPage {
  readonly rows: readonly PersonRow[]
  /** The place after which the next page begins, also if this one has no rows; undefined: none. */
  readonly next: readonly Value[] | undefined
}

/**
 * Returns a page of the person's rows after a place, in the order of places: of each row on the
 * way, those that are not deleted, then deleted ones.
 */
export type ListPersonRows = ListRowsOf<PersonPlace>

type ListRowsOf<Place> = (
  reader: Reader,
  of: Place,
  after: readonly Value[] | undefined,
  limit: number,
) => Promise<PersonPage>

/** The members of a place after all rows that belong to a row. */
const END: readonly Value[] = [null, null]

export function createPersonRows(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): ListPersonRows {
  const { column, through } = ownerPathOf(definition, resources)!
  const rows = referringRows(definition, column)
  const [nearest] = through
  if (!nearest) return rows
  const parent = resources.find(({ name }) => name === nearest.table)!
  const parents = createPersonRows(parent, resources)
  const isOwned = ownerLookUp(parent, resources)
  return async (reader, person, after, limit) => {
    const page: PersonRow[] = []
    const addRows = async ({ id, place }: PersonRow, from?: readonly Value[]) => {
      const of = { scope: person.scope, id }
      const { rows: added } = await rows(reader, of, from, limit - page.length)
      page.push(...added.map((row) => ({ ...row, place: [...place, ...row.place] })))
    }
    const nextOf = (end: readonly Value[] | undefined) =>
      page.length === limit ? page.at(-1)!.place : end && [...end, ...END]
    const place = after?.slice(0, -PLACE_MEMBERS)
    const from = after?.slice(-PLACE_MEMBERS)
    if (place && from!.at(-1) !== null) {
      const id = place.at(-1) as RowId
      // The row may have come to another person since.
      if (await isOwned(reader, person, id)) await addRows({ id, place }, from)
      if (page.length === limit) return { rows: page, next: nextOf(undefined) }
    }
    const owners = await parents(reader, person, place, limit)
    for (const row of owners.rows) if (page.length < limit) await addRows(row)
    return { rows: page, next: nextOf(owners.next) }
  }
}

/** Returns the function that lists the rows whose `column` is an id. */
function referringRows(
  { name, fields, softDeletion }: ResourceDefinition,
  column: string,
): ListRowsOf<{ readonly scope: Scope; readonly id: RowId }> {
  const selection = `FROM ${name} WHERE scope = ? AND ${column} = ?`
  const live = softDeletion ? ` AND ${LIVE_ROWS}` : ''
  const selectLive = prepareStatement(
    `SELECT NULL, id ${selection}${live} AND id > ? ORDER BY id LIMIT ?`,
  )
  // The index of the reference has the deletion before the id.
  const selectDeleted = prepareStatement(
    `SELECT ${DELETED_FIELD}, id ${selection} AND ${DELETED_FIELD} IS NOT NULL
      AND (${DELETED_FIELD}, id) > (?, ?) ORDER BY ${DELETED_FIELD}, id LIMIT ?`,
  )
  const lowestId = fields.id!.idPrefix === undefined ? 0 : ''
  return async (reader, of, after, limit) => {
    const values = [of.scope, of.id]
    const [deletedAt = null, id = lowestId] = after ?? []
    const places = deletedAt === null ? await reader.arrays(selectLive([...values, id, limit])) : []
    const left = limit - places.length
    if (softDeletion && left > 0) {
      const from = deletedAt === null ? [0, lowestId] : [deletedAt, id]
      places.push(...(await reader.arrays(selectDeleted([...values, ...from, left]))))
    }
    const rows = places.map((place) => ({ id: place[1] as RowId, place }))
    return { rows, next: rows.length < limit ? undefined : rows.at(-1)!.place }
  }
}

type OwnerLookUp = (reader: Reader, person: PersonPlace, id: RowId) => Promise<boolean>

/** Returns the function that says whether a row belongs to a person, deleted rows included. */
export function ownerLookUp(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): OwnerLookUp {
  const slots = { scope: Symbol('scope'), person: Symbol('person') }
  const path = ownerPathOf(definition, resources)!
  const owned = ownerCondition(path, slots.scope, slots.person)
  const select = prepareStatement(
    `SELECT 1 AS one FROM ${definition.name} WHERE scope = ? AND id = ? AND ${owned.sql}`,
  )
  return async (reader, { scope, id: person }, id) => {
    const values = owned.values.map((slot) => (slot === slots.scope ? scope : person))
    return (await reader.arrays(select([scope, id, ...values]))).length > 0
  }
}
