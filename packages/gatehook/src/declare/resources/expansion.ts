/**
 * `?expand=room,room.hotel`: rows of a response with the rows to which they refer (§7.11). The
 * server reads each relation of a page with one statement. Every row has the shape of the caller's
 * version.
 */
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
import { reachesResource } from './agent-reach.ts'
import type { ApiResource } from './api-resources.ts'
import type { ApiEntry } from './catalog-entry.ts'
import { columnFields } from './computed.ts'
import type { RowReach } from './ownership.ts'
import {
  EXPAND_DEPTH_MAX,
  EXPAND_RELATIONS_MAX,
  hasRelations,
  type Relation,
  relationsOf,
} from './relations.ts'
import type { ResourceDefinition } from './resource.ts'
import { PUBLIC } from './scopes.ts'
import type { VersionShape } from './shape.ts'

/** A relation, and its place in the table. */
interface RelationColumn {
  readonly relation: Relation
  /** The position of the id in the cells of the row that refers. */
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

type RelationPaths = Map<string, RelationPaths>

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
  const relations = resolveRelations(entry, entries, call, parsePaths(text))
  return {
    key: keyOf(relations),
    omits: omittedFields(relations),
    maxRowBytes: maxRowBytesOf(relations),
    read: (reader, rows, most) => readMembers(reader, relations, rows, { left: most }),
  }
}

/** Parses paths to a tree of relation names. */
function parsePaths(text: string): RelationPaths {
  const root: RelationPaths = new Map()
  let count = 0
  for (const path of text.split(',')) {
    const names = path.split('.')
    if (names.length > EXPAND_DEPTH_MAX) throw invalid(`has at most ${EXPAND_DEPTH_MAX} levels`)
    let level = root
    for (const name of names) {
      let next = level.get(name)
      if (!next) {
        count += 1
        level.set(name, (next = new Map()))
      }
      level = next
    }
    if (count > EXPAND_RELATIONS_MAX) {
      throw invalid(`names more than ${EXPAND_RELATIONS_MAX} relations`)
    }
  }
  return root
}

function resolveRelations(
  { definition, shapes }: ApiEntry,
  entries: ReadonlyMap<string, ApiEntry>,
  call: Call,
  paths: RelationPaths,
): ExpandedRelation[] {
  const relations = visibleRelations(definition, shapes.get(call.version!)!.as(call.principal))
  return [...paths].map(([name, further]) => {
    const source = relations.find(({ relation }) => relation.name === name)
    if (!source) {
      const existing = relations.map(({ relation }) => relation.name).join(', ') || 'none'
      throw invalid(`names "${name}"; the relations of ${definition.name} are: ${existing}`)
    }
    const entry = entries.get(source.relation.target)!
    requireReadable(entry.definition, call, name)
    if (call.principal?.isAgent && !reachesResource(entry.definition)) {
      throw invalid(`names "${name}", whose rows agents do not read`)
    }
    return {
      ...source,
      entry,
      reach: entry.reach(call.principal, 'read'),
      shape: entry.shapes.get(call.version!)!.as(call.principal),
      relations: resolveRelations(entry, entries, call, further),
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
    relations = relationsOf(definition, shape)
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

const omittedFields = (relations: readonly ExpandedRelation[]): string[] =>
  relations.flatMap(({ relation }) => relation.replaces ?? [])

/** Returns the bytes of the largest members of a row. */
const maxRowBytesOf = (relations: readonly ExpandedRelation[]): number =>
  relations.reduce(
    (sum, { entry, relations }) =>
      sum + (entry.collection.maxRowBytes ?? 0) + maxRowBytesOf(relations),
    0,
  )

/** The bytes that still fit in the response; negative beyond them. */
interface ReadBudget {
  left: number
}

/**
 * Returns the JSON members of each row: `"room":{…},"guest":7`. Undefined if they do not fit: then
 * the other relations are not read.
 */
async function readMembers(
  reader: Reader,
  relations: readonly ExpandedRelation[],
  rows: readonly (readonly Value[])[],
  budget: ReadBudget,
): Promise<string[] | undefined> {
  const members: string[] = rows.map(() => '')
  for (const expanded of relations) {
    const { relation, index } = expanded
    const texts = await readTexts(reader, expanded, rows, budget)
    if (!texts) return undefined
    for (let at = 0; at < rows.length; at++) {
      const id = rows[at]![index]
      // The id remains for a row out of the caller's reach.
      const text = id === null ? 'null' : (texts.get(id as RowId) ?? JSON.stringify(id))
      members[at] += `${members[at] === '' ? '' : ','}"${relation.name}":${text}`
    }
  }
  return members
}

/** Reads the rows of a relation in one statement. Returns the JSON text of each by its id. */
async function readTexts(
  reader: Reader,
  { entry, reach, shape, index, relations }: ExpandedRelation,
  rows: readonly (readonly Value[])[],
  budget: ReadBudget,
): Promise<Map<RowId, string> | undefined> {
  const ids = [...new Set(rows.map((row) => row[index]))].filter((id) => id !== null) as RowId[]
  const related = ids.length === 0 ? [] : await entry.rows.store.findAll(reader, reach, ids)
  const { view } = shape
  const fields = fieldsWithout(view, omittedFields(relations))
  const options = fields ? { fields } : {}
  const texts = new Map<RowId, string>()
  for (const row of related) {
    const text = view.item(row, options)
    budget.left -= sizeOf(text)
    if (budget.left < 0) return undefined
    texts.set(row[0] as RowId, text)
  }
  if (relations.length === 0) return texts
  const members = await readMembers(reader, relations, related, budget)
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
