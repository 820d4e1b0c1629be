/**
 * `?expand=room,room.hotel`: rows of a response with the rows to which they refer (§7.11). The
 * server reads each relation of a page with one statement, those inside values with few (§15.9).
 * Every row has the shape of the caller's version.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import { holdsScope } from '../../identity/access/scopes.ts'
import { Failure } from '../../kernel/failure.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Reader, Value } from '../../platform/storage/database.ts'
import { ITEMS_BYTES_MAX, sizeOf } from '../../protocol/http/answer-budget.ts'
import type { Call } from '../../protocol/http/call.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import type { View } from '../../protocol/lists/collection.ts'
import {
  EXPAND,
  fieldsWithout,
  type PageExpansion,
  withMembers,
} from '../../protocol/lists/expanded-page.ts'
import { nextRows } from '../../protocol/lists/wide-rows.ts'
import { reachesResource } from './agent-reach.ts'
import type { ApiResource } from './api-resources.ts'
import type { ApiEntry } from './catalog-entry.ts'
import { columnFields } from './computed.ts'
import { textWithRows, withRows } from './expanded-values.ts'
import { idsInside } from './inner-references.ts'
import type { RowReach } from './ownership.ts'
import {
  EXPAND_DEPTH_MAX,
  EXPAND_RELATIONS_MAX,
  expandableRelations,
  hasRelations,
  type InnerRelation,
  isInner,
  type Relation,
} from './relations.ts'
import type { ResourceDefinition } from './resource.ts'
import { PUBLIC } from './scopes.ts'
import type { VersionShape } from './shape.ts'

/** A relation, and its place in the table. */
interface RelationColumn {
  readonly relation: Relation
  /** The position of the id, or of the value with ids, in the cells of the row that refers. */
  readonly index: number
}

/** A requested relation, and those of its rows. */
interface ExpandedRelation extends RelationColumn {
  readonly entry: ApiEntry
  /** The rows that the caller reads. */
  readonly reach: RowReach
  /** The rows in the caller's version, with the fields that the caller sees. */
  readonly shape: VersionShape
  readonly relations: readonly ExpandedRelation[]
}

const invalid = (problem: string): Failure => parameterFailure('invalid_parameter', EXPAND, problem)

/**
 * Returns the expansion that a request names, or undefined. Throws `invalid_parameter` for an
 * unknown relation and beyond the bounds; `insufficient_scope` if the caller cannot read the rows.
 */
export function readExpansion(
  entry: ApiEntry,
  entries: ReadonlyMap<string, ApiEntry>,
  call: Call,
): PageExpansion | undefined {
  const text = call.query.get(EXPAND)
  if (text === undefined || !hasRelations(entry.definition)) return undefined
  if (call.query.entries.filter(([name]) => name === EXPAND).length > 1) {
    throw parameterFailure('pagination_conflict', EXPAND, 'is sent more than once')
  }
  const counter = { left: EXPAND_RELATIONS_MAX }
  const paths = new Set(text.split(','))
  if (paths.size > counter.left) throw tooMany()
  const request = { entries, call, counter }
  const relations = resolveRelations(request, entry, [...paths], 1)
  const { view } = entry.shapes.get(call.version!)!.as(call.principal)
  return {
    key: keyOf(relations),
    omits: omittedFields(relations),
    maxRowBytes: maxRowBytesOf(relations),
    isWide: maxRowBytesOf(relations) > WIDE_BYTES || hasInner(relations),
    read: (reader, rows, most) =>
      readMembers(reader, { view, relations }, rows, new ReadBudget(most)),
  }
}

const tooMany = () => invalid(`names more than ${EXPAND_RELATIONS_MAX} relations`)

interface ExpansionRequest {
  readonly entries: ReadonlyMap<string, ApiEntry>
  readonly call: Call
  /** The relations that the request can still name. */
  readonly counter: { left: number }
}

function resolveRelations(
  request: ExpansionRequest,
  { definition, shapes }: ApiEntry,
  paths: readonly string[],
  level: number,
): ExpandedRelation[] {
  const { entries, call, counter } = request
  if (paths.length === 0) return []
  if (level > EXPAND_DEPTH_MAX) throw invalid(`has at most ${EXPAND_DEPTH_MAX} levels`)
  const relations = visibleRelations(definition, shapes.get(call.version!)!.as(call.principal))
  /** The paths that follow each named relation. */
  const named = new Map<RelationColumn, string[]>()
  for (const path of paths) {
    const source = relations.find(({ relation: { name } }) => `${path}.`.startsWith(`${name}.`))
    if (!source) {
      const existing = relations.map(({ relation }) => relation.name).join(', ') || 'none'
      throw invalid(`names "${path}"; the relations of ${definition.name} are: ${existing}`)
    }
    const further = named.get(source) ?? []
    named.set(source, further)
    const { name } = source.relation
    if (path !== name) further.push(path.slice(name.length + 1))
  }
  counter.left -= named.size
  if (counter.left < 0) throw tooMany()
  return [...named].map(([source, further]) => {
    const { name, target } = source.relation
    const entry = entries.get(target)!
    requireReadable(entry.definition, call, name)
    if (call.principal?.isAgent && !reachesResource(entry.definition)) {
      throw invalid(`names "${name}", whose rows agents do not read`)
    }
    return {
      ...source,
      entry,
      reach: entry.reach(call.principal, 'read'),
      shape: entry.shapes.get(call.version!)!.as(call.principal),
      relations: resolveRelations(request, entry, further, level + 1),
    }
  })
}

/** The relations of each shape, which is created once for each set of scopes. */
const relationsByShape = new WeakMap<VersionShape, readonly RelationColumn[]>()

/** Returns the relations whose field the caller of a shape sees. */
function visibleRelations(
  definition: ResourceDefinition,
  shape: VersionShape,
): readonly RelationColumn[] {
  let relations = relationsByShape.get(shape)
  if (!relations) {
    const names = columnFields(definition.fields).map(([name]) => name)
    relations = expandableRelations(definition, shape)
      .filter(({ field }) => !shape.hiddenColumns.has(field))
      .map((relation) => ({ relation, index: names.indexOf(relation.field) }))
    relationsByShape.set(shape, relations)
  }
  return relations
}

/** Throws `insufficient_scope` unless the caller can list the resource. */
function requireReadable({ access }: ApiResource, { principal }: Call, name: string): void {
  if (access.read === PUBLIC || (principal && holdsScope(principal, access.read))) return
  throw new Failure('insufficient_scope', `expand=${name} needs the scope ${access.read}.`, {
    scope: access.read,
  })
}

/** Distinguishes callers that read different rows or fields of the same relations. */
const keyOf = (relations: readonly ExpandedRelation[]): string =>
  relations
    .map(({ reach, shape, relations }) => {
      const hidden = [...shape.hidden].join(' ')
      return `${reach.scope} ${reach.owner ?? ''} ${hidden}(${keyOf(relations)})`
    })
    .join()

const omittedFields = (relations: readonly ExpandedRelation[]): string[] => [
  ...new Set(relations.flatMap(({ relation }) => relation.replaces ?? [])),
]

/** Returns the bytes of the largest members of a row. */
const maxRowBytesOf = (relations: readonly ExpandedRelation[]): number =>
  relations.reduce(
    (sum, { entry, relations }) =>
      sum + (entry.collection.maxRowBytes ?? 0) + maxRowBytesOf(relations),
    0,
  )

/** Whether a value refers to rows, which may be many. */
const hasInner = (relations: readonly ExpandedRelation[]): boolean =>
  relations.some(({ relation, relations }) => isInner(relation) || hasInner(relations))

/** Members of one row beyond this size take the turn of a large response. */
const WIDE_BYTES = 1024 * 1024
/** Work between two turns of other requests, in characters of JSON. */
const TURN_CHARACTERS = 65_536

class ReadBudget {
  /** The bytes that still fit in the response; negative beyond them. */
  left: number
  #characters = 0

  constructor(left: number) {
    this.left = left
  }

  /** Counts a text that is parsed or encoded; other requests run after some of them. */
  turnAfter(text: string): Promise<void> | undefined {
    this.#characters += text.length
    if (this.#characters < TURN_CHARACTERS) return undefined
    this.#characters = 0
    return nextTick()
  }
}

/** Relations, and the view of the rows that have them. */
interface ExpandedRows {
  readonly view: View
  readonly relations: readonly ExpandedRelation[]
}

/**
 * Returns the JSON members of each row: `"room":{…},"guest":7`. Undefined if they do not fit: then
 * the other relations are not read.
 */
async function readMembers(
  reader: Reader,
  { view, relations }: ExpandedRows,
  rows: readonly (readonly Value[])[],
  budget: ReadBudget,
): Promise<string[] | undefined> {
  const members: string[] = rows.map(() => '')
  const add = (at: number, name: string, text: string) => {
    members[at] += `${members[at] === '' ? '' : ','}"${name}":${text}`
  }
  for (const expanded of relations) {
    const { relation, index } = expanded
    if (isInner(relation)) continue
    const idAt = (at: number) => rows[at]![index] as RowId | null
    const texts = await readTexts(reader, expanded, new Set(rows.keys().map(idAt)), budget)
    if (!texts) return undefined
    for (let at = 0; at < rows.length; at++) {
      const id = idAt(at)
      // The id remains for a row out of the caller's reach.
      add(at, relation.name, id === null ? 'null' : (texts.get(id) ?? JSON.stringify(id)))
    }
  }
  for (const field of new Set(relations.flatMap(({ relation }) => innerField(relation) ?? []))) {
    const inner = relations.filter(({ relation }) => innerField(relation) === field)
    const texts = await readValues(reader, { view, relations: inner }, { field, rows }, budget)
    if (!texts) return undefined
    for (const [at, text] of texts.entries()) add(at, field, text)
  }
  return members
}

const innerField = (relation: Relation): string | undefined =>
  isInner(relation) ? relation.replaces : undefined

/** Distinct rows inside the values of several rows, which one read has. */
const INNER_ROWS_MAX = 1_000

/**
 * Returns the JSON text of a field in each row, with the rows to which its value refers. Undefined
 * if they do not fit: each copy of a row counts. One value at a time is parsed, and no read row.
 */
async function readValues(
  reader: Reader,
  { view, relations }: ExpandedRows,
  { field, rows }: { readonly field: string; readonly rows: readonly (readonly Value[])[] },
  budget: ReadBudget,
): Promise<string[] | undefined> {
  const fields = new Set([field])
  const readValue = async (row: readonly Value[]): Promise<unknown> => {
    const text = view.item(row, { fields })
    await budget.turnAfter(text)
    return (JSON.parse(text) as Record<string, unknown>)[field]
  }
  const inner = relations.map((expanded) => ({
    expanded,
    relation: expanded.relation as InnerRelation,
    ids: new Set<RowId>(),
  }))
  for (const row of rows) {
    const value = await readValue(row)
    for (const { relation, ids } of inner) {
      for (const id of idsInside(value, relation.steps).keys()) ids.add(id)
    }
  }
  const textsOf = new Map<InnerRelation, ReadonlyMap<RowId, string>>()
  for (const { expanded, relation, ids } of inner) {
    if (ids.size > INNER_ROWS_MAX && rows.length > 1) return undefined
    const texts = await readTexts(reader, expanded, ids, budget)
    if (!texts) return undefined
    textsOf.set(relation, texts)
  }
  const values: string[] = []
  for (const row of rows) {
    let value = await readValue(row)
    for (const [relation, texts] of textsOf) {
      value = withRows(value, relation, (id) => {
        const text = texts.get(id)
        budget.left -= text === undefined ? 0 : sizeOf(text)
        return budget.left < 0 ? undefined : text
      })
    }
    if (budget.left < 0) return undefined
    values.push(textWithRows(value))
  }
  return values
}

/**
 * Reads the rows of a relation, 128 by each statement, and fewer large ones. Returns the JSON text
 * of each by its id.
 */
async function readTexts(
  reader: Reader,
  { entry, reach, shape, relations }: ExpandedRelation,
  ids: ReadonlySet<RowId | null>,
  budget: ReadBudget,
): Promise<Map<RowId, string> | undefined> {
  const present = [...ids].filter((id) => id !== null)
  const { maxRowBytes = 0 } = entry.collection
  const { view } = shape
  const fields = fieldsWithout(view, omittedFields(relations))
  const options = fields ? { fields } : {}
  const texts = new Map<RowId, string>()
  const related: Value[][] = []
  let bytes = 0
  for (let from = 0; from < present.length; ) {
    const free = budget.left
    const isWide = maxRowBytes * (present.length - from) > free
    const to = isWide ? from + nextRows({ maxRowBytes, rows: from, bytes, free }) : present.length
    const part = await entry.rows.store.findAll(reader, reach, present.slice(from, to))
    for (const row of part) {
      const text = view.item(row, options)
      const textBytes = sizeOf(text)
      bytes += textBytes
      budget.left -= textBytes
      if (budget.left < 0) return undefined
      texts.set(row[0] as RowId, text)
      await budget.turnAfter(text)
    }
    if (relations.length > 0) related.push(...part)
    from = to
  }
  if (relations.length === 0) return texts
  const members = await readMembers(reader, { view, relations }, related, budget)
  if (!members) return undefined
  for (const [at, row] of related.entries()) {
    const id = row[0] as RowId
    texts.set(id, withMembers(texts.get(id)!, members[at]!))
  }
  return texts
}

/** Returns the JSON text of one row with the expanded members of the request. */
export async function expandRow(
  reader: Reader,
  expansion: PageExpansion,
  view: View,
  row: readonly Value[],
): Promise<string> {
  const fields = fieldsWithout(view, expansion.omits)
  const item = view.item(row, fields ? { fields } : {})
  const members = await expansion.read(reader, [row], ITEMS_BYTES_MAX - sizeOf(item))
  if (!members) {
    const message = 'The response would be larger than 8 MiB. Expand fewer relations.'
    const error = { parameter: EXPAND, code: 'page_too_large', message } as const
    throw new Failure('page_too_large', message, { errors: [error] })
  }
  return withMembers(item, members[0]!)
}
