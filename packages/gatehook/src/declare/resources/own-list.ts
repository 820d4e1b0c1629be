/**
 * `list` of own code (§15.4): a page of a resource by its declared filters and sorts, which are
 * those of its endpoint. Own values become the texts of a request, so that both are read alike.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { toJson } from '../../protocol/fields/forms.ts'
import { isPlainObject } from '../../protocol/fields/reading.ts'
import { Query } from '../../protocol/http/query.ts'
import { keysOf } from '../../protocol/lists/anchors.ts'
import type { Key } from '../../protocol/lists/cursor.ts'
import { operatorRows, takesList } from '../../protocol/lists/filter.ts'
import { type ListRequest, parseListQuery } from '../../protocol/lists/grammar.ts'
import {
  createWalk,
  type ListSource,
  type ListTask,
  readRowsAfter,
} from '../../protocol/lists/page.ts'
import { readRowsOfIds } from '../../protocol/lists/rows-of-ids.ts'
import { valueListText } from '../../protocol/lists/value-list.ts'
import { columnOf } from '../../protocol/lists/walk.ts'
import type { Catalog, CatalogEntry } from './catalog-entry.ts'
import { EVERY_SCOPE } from './field-rights.ts'
import type { RowReach } from './ownership.ts'
import { ownCaller, relatedCollection } from './related-reach.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import { cellWriter } from './table.ts'

/** The options of a list, without their type parameters. */
export interface AnyListOptions {
  readonly filter?: AnyRow | undefined
  readonly sort?: string | readonly string[] | undefined
  readonly limit?: number | undefined
  readonly after?: AnyRow | undefined
}

const OPTIONS: readonly string[] = ['filter', 'sort', 'limit', 'after']
const OPERATORS: readonly string[] = [...operatorRows.map(([name]) => name), 'prefix', 'contains']

const mistakeIn = ({ name }: ResourceDefinition, mistake: string): Error =>
  new Error(`list(${name}): ${mistake}`)

/** The fields of a list, also those of other rows. */
interface ListFields {
  readonly definition: ResourceDefinition
  readonly specs: ReadonlyMap<string, FieldSpec>
}

/** Returns the text that a request has for a value of a field. */
function textOf({ definition, specs }: ListFields, field: string, value: unknown): string {
  if (value === undefined || value === null) {
    throw mistakeIn(definition, `${field}: write null as { null: true }, or as the value alone`)
  }
  const spec = specs.get(field)
  return String(spec ? toJson(spec, value) : value)
}

/** Returns the parameters of a condition of one field. */
function parametersOf(
  fields: ListFields,
  [field, condition]: readonly [string, unknown],
): [name: string, text: string][] {
  if (condition === undefined) return []
  if (condition === null) return [[`${field}[null]`, 'true']]
  if (!isPlainObject(condition)) return [[field, textOf(fields, field, condition)]]
  const isMap = fields.specs.get(field)?.kind === 'metadata'
  return Object.entries(condition).map(([name, value]) => {
    const parameter = `${field}[${name}]`
    if (isMap) return [parameter, String(value)]
    if (!OPERATORS.includes(name) || name === 'eq') {
      throw mistakeIn(fields.definition, `${field}: there is no operator ${name}`)
    }
    if (takesList(name)) {
      const texts = (value as readonly unknown[]).map((item) => textOf(fields, field, item))
      return [parameter, valueListText(texts)]
    }
    return [parameter, name === 'null' ? String(value) : textOf(fields, field, value)]
  })
}

/** Reads the options as the parameters of a request. A mistake of the code is no failure. */
function readOptions(
  { definition, collection, shapes }: Pick<CatalogEntry, 'definition' | 'collection' | 'shapes'>,
  { filter = {}, sort = [], limit }: AnyListOptions,
  newest: string,
): ListRequest {
  const { view, related } = shapes.get(newest)!.as(EVERY_SCOPE)
  const paths = related.map(({ name, spec }) => [name, spec] as const)
  const fields = { definition, specs: new Map([...Object.entries(definition.fields), ...paths]) }
  const entries = Object.entries(filter).flatMap((entry) => parametersOf(fields, entry))
  const keys = [sort].flat()
  if (keys.length > 0) entries.push(['sort', keys.join(',')])
  if (limit !== undefined) entries.push(['limit', String(limit)])
  try {
    return parseListQuery(new Query(entries), collection, view, 'cursor')
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const parameter = error.errors?.[0]?.parameter ?? ''
    // The value of a declared filter can be that of a caller.
    if (error.code === 'invalid_parameter' && !['sort', 'limit'].includes(parameter)) throw error
    throw mistakeIn(definition, error.message)
  }
}

/** Returns the position of a row in an order. Values of other rows are those of now. */
async function anchorOf(
  definition: ResourceDefinition,
  row: AnyRow,
  task: ListTask,
): Promise<Key[]> {
  const { sort } = task.request
  const walk = createWalk(task)
  const isRelated = sort.some(({ column }) => columnOf(walk, column).related)
  const [cells] = isRelated ? await readRowsOfIds(task.db, walk, [row.id]) : []
  if (isRelated && !cells) throw mistakeIn(definition, 'after: the row does not exist')
  if (cells) return keysOf(walk)(cells)
  return sort.map(({ column }) => {
    if (row[column] === undefined) throw mistakeIn(definition, `after: ${column} is missing`)
    return cellWriter(definition.fields[column]!)(row[column]) as Key
  })
}

/** Returns the reads of a list in a transaction, which has no snapshot of its own. */
const sourceOf = (reader: Reader | Database): ListSource =>
  'snapshot' in reader
    ? reader
    : {
        all: (statement) => reader.all(statement),
        get: (statement) => reader.get(statement),
        arrays: (statement) => reader.arrays(statement),
        snapshot: (read) => read(reader),
        longRead: (_customer, read) => read(reader),
      }

/** Returns the rows of a page in reach. Throws `invalid_parameter`, `query_too_expensive`. */
export async function listRows(
  { newest }: Pick<Catalog, 'newest'>,
  entry: CatalogEntry,
  reader: Reader | Database,
  reach: RowReach,
  options: AnyListOptions = {},
): Promise<AnyRow[]> {
  const { definition, rows } = entry
  const collection = relatedCollection(entry.collection, definition.name, ownCaller(reach))
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) throw mistakeIn(definition, `there is no option ${unknown}`)
  const lists = Object.values(options.filter ?? {}).map((condition) => condition?.in)
  if (lists.some((values) => Array.isArray(values) && values.length === 0)) return []
  const request = readOptions({ ...entry, collection }, options, newest)
  const task: ListTask = {
    db: sourceOf(reader),
    customer: reach.principal?.customer ?? reach.scope,
    collection,
    rowScope: { scope: reach.scope, owner: reach.owner },
    request,
    encode: JSON.stringify,
  }
  const anchor = options.after && (await anchorOf(definition, options.after, task))
  return (await readRowsAfter(task, anchor)).map(rows.decode)
}
