/**
 * The data of a person in rows, events and inputs of jobs (§18.11): which of them belong to the
 * person, by `.owner()`, and what they are once `.personal()` fields and the sign-in name are
 * erased.
 */

import { createHmac, type KeyObject } from 'node:crypto'
import type { Scope } from '../../kernel/principal.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { MacKeys } from '../../kernel/secret.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import type { DatabaseName } from '../../platform/storage/expressions.ts'
import { prepareStatement, raw, sql } from '../../platform/storage/sql.ts'
import { timeOf } from '../../platform/storage/transaction-time.ts'
import { isSameValue, toJson } from '../../protocol/fields/forms.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { containsSecret } from '../../protocol/fields/secret-names.ts'
import type { Catalog, CatalogEntry } from './catalog-entry.ts'
import { columnFields } from './computed.ts'
import { selectTerms } from './derived.ts'
import { signInResource } from './directory.ts'
import { ownerPathOf, owningField, wholeScope } from './ownership.ts'
import {
  createPersonRows,
  type ListPersonRows,
  ownerLookUp,
  type PersonPlace,
} from './person-rows.ts'
import { erasedFields, erasedMembers, personalNames, valuesToErase } from './personal-fields.ts'
import {
  eraseRecordedRow,
  formerValues,
  readRecordedRow,
  replaceMembers,
} from './recorded-objects.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import { rowDecoder } from './shape.ts'
import { stampFields } from './stamps.ts'
import { toWire } from './validate.ts'

/** Receives the personal values of the person. */
type OnPersonalValue = (kind: 'name' | 'other', value: unknown) => void

/** Receives the data of a person that rows and events have. */
export interface PersonFindings {
  readonly add: OnPersonalValue
  /** Whether a row that was deleted for good belonged to the person. */
  hasFormerRow(table: string, id: RowId): boolean
  noteFormerRow(table: string, id: RowId, isOwned: boolean): void
}

/** A recorded object: that of an event, or the input of a job. */
interface PersonalObject {
  /** JSON text. */
  readonly text: string
  /** The person whose request caused it. */
  readonly subject: string | null
}

interface PersonalEvent extends PersonalObject {
  readonly type: string
  readonly collection: string | null
  readonly shape: string
}

/** The rows of persons in one resource. */
interface PersonalRows {
  readonly table: string
  readonly list: ListPersonRows
  /** Returns the row, without secret fields. */
  read(reader: Reader, person: PersonPlace, id: RowId): Promise<AnyRow | undefined>
  /** Erases the row; returns whether it changed. */
  erase(tx: Tx, person: PersonPlace, id: RowId): Promise<boolean>
}

export interface PersonalData {
  /** Of each resource whose rows belong to persons, that of persons first. */
  readonly rows: readonly PersonalRows[]
  /** Whether the declaration has the resource or the fields of an event's object. */
  declares(event: Pick<PersonalEvent, 'type' | 'collection'>): boolean
  /** Reports the personal values of a row that are not erased yet. */
  report(table: string, row: AnyRow, onValue: OnPersonalValue): void
  /**
   * Returns the object of an event once its person is erased; undefined: it belongs to others, or
   * its type declares no fields. Events are examined in their order: those of a deleted row say to
   * whom events of its rows belong.
   */
  eraseEvent(
    reader: Reader,
    person: PersonPlace,
    event: PersonalEvent,
    findings: PersonFindings,
  ): Promise<string | undefined>
  /** Returns the input of a job once its person is erased; undefined: it belongs to others. */
  eraseInput(
    person: PersonPlace,
    job: PersonalObject & { readonly name: string },
    onValue: OnPersonalValue,
  ): string | undefined
}

/** Returns the number in the placeholders of a row, which no caller can guess. */
const numberOf = (key: KeyObject, resource: string, id: RowId): number =>
  createHmac('sha256', key)
    .update(JSON.stringify([resource, id]))
    .digest()
    .readUIntBE(0, 6)

/**
 * Returns undefined if no resource signs in.
 *
 * @param keys of the placeholders
 */
export function createPersonalData(catalog: Catalog, keys: MacKeys): PersonalData | undefined {
  const { resources, jobs } = catalog.service
  const people = signInResource(resources)
  if (!people) return undefined
  const owned = resources.filter((definition) => ownerPathOf(definition, resources))
  const ordered = [people, ...owned.filter((definition) => definition !== people)]
  const isOwned = ownerOfEvents(catalog, people, ordered)
  /** Erases an object with declared members; undefined: it belongs to others. */
  const eraseMembers = (
    specs: FieldSpecs,
    { id }: PersonPlace,
    { text, subject }: PersonalObject,
    onValue: OnPersonalValue,
  ): string | undefined => {
    const object = JSON.parse(text) as AnyRow
    const owners = Object.keys(specs)
      .filter((name) => specs[name]!.owner)
      .map((name) => object[name] ?? undefined)
      .filter((owner) => owner !== undefined)
    const isOfPerson = owners.length > 0 ? owners.includes(id) : subject === String(id)
    if (!isOfPerson) return undefined
    const n = numberOf(keys.current, people.name, id)
    const erased = toWire(specs, erasedMembers(specs, object, n))
    for (const name of personalNames(specs)) {
      if (!isSameValue(object[name], erased[name])) onValue('other', object[name])
    }
    return replaceMembers(text, object, specs, erased)
  }
  /** Reports the values of a row in the form of JSON, which copies of it have. */
  const reportRow = (definition: ResourceDefinition, row: AnyRow, onValue: OnPersonalValue) => {
    const n = numberOf(keys.current, definition.name, row.id as RowId)
    for (const [name, value] of valuesToErase(definition, row, n)) {
      const kind = name === definition.signsIn?.username ? 'name' : 'other'
      onValue(kind, toJson(definition.fields[name]!, value))
    }
  }
  return {
    rows: ordered.map(({ name }) => rowsOf(catalog, catalog.entries.get(name)!, keys)),
    declares: ({ type, collection }) =>
      catalog.entries.has(collection ?? '') || catalog.objectForms.has(type),
    report: (table, row, onValue) =>
      reportRow(catalog.entries.get(table)!.definition, row, onValue),
    async eraseEvent(reader, person, event, findings) {
      const onValue = findings.add.bind(findings)
      const { type, collection, shape, text } = event
      const entry = catalog.entries.get(collection ?? '')
      if (!entry) {
        const forms = catalog.objectForms.get(type)
        if (!forms) return undefined
        const newest = forms.convert(text, shape, catalog.newest)
        const erased = eraseMembers(forms.specs, person, { ...event, text: newest }, onValue)
        return erased && forms.convert(erased, catalog.newest, shape)
      }
      const { definition } = entry
      const recorded = readRecordedRow(definition, entry.shapes.get(shape), text)
      const { row } = recorded
      if (!(await isOwned(reader, person, { definition, row, findings }))) return undefined
      const n = numberOf(keys.current, definition.name, row.id)
      reportRow(definition, row, onValue)
      onValue('other', formerValues(recorded, n))
      return eraseRecordedRow(recorded, text, n)
    },
    eraseInput(person, job, onValue) {
      const declared = jobs.find(({ kind, name }) => kind === 'job' && name === job.name)
      return declared && eraseMembers(declared.input, person, job, onValue)
    },
  }
}

interface ErasedRow {
  readonly definition: ResourceDefinition
  readonly row: AnyRow
  readonly findings: PersonFindings
}

/** Returns the function that says whether the row of an event belongs to a person. */
function ownerOfEvents(
  { service: { resources } }: Catalog,
  people: ResourceDefinition,
  ordered: readonly ResourceDefinition[],
) {
  const lookUps = new Map(
    ordered.map((definition) => [definition.name, ownerLookUp(definition, resources)]),
  )
  const parents = new Set(
    ordered.flatMap(({ ownedBy, fields }) => (ownedBy ? fields[ownedBy]!.target! : [])),
  )
  const isOwned = async (
    reader: Reader,
    person: PersonPlace,
    { definition, row, findings }: ErasedRow,
  ) => {
    const lookUp = lookUps.get(definition.name)
    if (!lookUp) return false
    if (definition === people) return row.id === person.id
    const field = owningField(definition)!
    const target = definition.fields[field]!.target!
    const value = row[field] as RowId | null | undefined
    if (value === undefined) return lookUp(reader, person, row.id as RowId)
    if (!definition.ownedBy || target === people.name) return value === person.id
    if (value === null) return false
    return findings.hasFormerRow(target, value) || lookUps.get(target)!(reader, person, value)
  }
  return async (reader: Reader, person: PersonPlace, event: ErasedRow): Promise<boolean> => {
    const isOfPerson = await isOwned(reader, person, event)
    const { findings, row, definition } = event
    const { name } = definition
    if (!parents.has(name)) return isOfPerson
    const id = row.id as RowId
    const isFormer = isOfPerson && !(await rowExists(reader, name, person.scope, id))
    findings.noteFormerRow(name, id, isFormer)
    return isOfPerson
  }
}

/** Whether a row exists, deleted ones included that can be restored. */
const rowExists = async (reader: Reader, table: string, scope: Scope, id: RowId) =>
  (await reader.get(
    sql`SELECT 1 AS one FROM ${raw(table)} WHERE scope = ${scope} AND id = ${id}`,
  )) !== undefined

/** Returns the rows of persons in a resource. */
function rowsOf(
  { clock, service }: Catalog,
  { definition, rows }: CatalogEntry,
  keys: MacKeys,
): PersonalRows {
  const { name, fields } = definition
  const decode = rowDecoder(definition)
  const selectionFor = (database: DatabaseName) =>
    `SELECT ${selectTerms(columnFields(fields), database)} FROM ${name} WHERE scope = ? AND id = ?`
  const select = prepareStatement(selectionFor('postgres'), selectionFor('sqlite'))
  return {
    table: name,
    list: createPersonRows(definition, service.resources),
    async read(reader, { scope }, id) {
      const [cells] = await reader.arrays(select([scope, id]))
      if (!cells) return undefined
      const row = decode(cells)
      return Object.fromEntries(
        Object.entries(row).filter(([field]) => !containsSecret(fields[field]!)),
      )
    },
    async erase(tx, { scope }, id) {
      const reach = wholeScope(scope)
      const { store } = rows
      const cells = (await store.lock(tx, reach, id)) ?? (await store.lockDeleted(tx, reach, id))
      if (!cells) return false
      const changed = erasedFields(definition, decode(cells), numberOf(keys.current, name, id))
      if (Object.keys(changed).length === 0) return false
      const now = timeOf(tx, clock)
      const stamps = stampFields(definition, ['updated']).map((field) => [field, now])
      await store.update(tx, scope, id, { ...changed, ...Object.fromEntries(stamps) })
      return true
    },
  }
}
