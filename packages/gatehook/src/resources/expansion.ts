/**
 * `?expand=room,room.hotel`: rows of a response with the rows to which they refer (§7.11). The
 * server reads each relation of a page with one statement. Every row has the shape of the caller's
 * version.
 */
import { holdsScope } from '../access/scopes.ts'
import type { Call } from '../http/call.ts'
import { parameterFailure } from '../http/query.ts'
import { Failure } from '../kernel/failure.ts'
import type { View } from '../lists/collection.ts'
import { EXPAND, fieldsWithout, type PageExpansion, withMembers } from '../lists/expanded-page.ts'
import type { Reader, Value } from '../storage/database.ts'
import type { CatalogEntry } from './catalog-entry.ts'
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

/** A requested relation, and those of its rows. */
interface ExpandedRelation {
  readonly relation: Relation
  readonly entry: CatalogEntry
  /** The rows that the caller reads. */
  readonly reach: RowReach
  /** The rows in the caller's version, with the fields that the caller sees. */
  readonly shape: VersionShape
  /** The position of the id in the cells of the row that refers. */
  readonly index: number
  readonly relations: readonly ExpandedRelation[]
}

type RelationPaths = Map<string, RelationPaths>

const invalid = (problem: string): Failure => parameterFailure('invalid_parameter', EXPAND, problem)

/**
 * Returns the expansion that a request names, or undefined. Throws `invalid_parameter` for an
 * unknown relation and beyond the bounds; `insufficient_scope` if the caller cannot read the rows.
 */
export function readExpansion(
  entry: CatalogEntry,
  entries: ReadonlyMap<string, CatalogEntry>,
  call: Call,
): PageExpansion | undefined {
  const text = call.query.get(EXPAND)
  if (text === undefined || !hasRelations(entry.definition)) return undefined
  if (call.query.repeated().includes(EXPAND)) {
    throw parameterFailure('pagination_conflict', EXPAND, 'is sent more than once')
  }
  const relations = resolveRelations(entry, entries, call, parsePaths(text))
  return {
    key: keyOf(relations),
    omits: omittedFields(relations),
    isWide: isWide(relations),
    read: (reader, rows) => readMembers(reader, relations, rows),
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
  { definition, shapes }: CatalogEntry,
  entries: ReadonlyMap<string, CatalogEntry>,
  call: Call,
  paths: RelationPaths,
): ExpandedRelation[] {
  const shape = shapes.get(call.version!)!.as(call.principal)
  const relations = relationsOf(definition, shape).filter(
    ({ field }) => !shape.hiddenColumns.has(field),
  )
  const names = columnFields(definition.fields).map(([name]) => name)
  return [...paths].map(([name, further]) => {
    const relation = relations.find((candidate) => candidate.name === name)
    if (!relation) {
      const existing = relations.map((candidate) => candidate.name).join(', ') || 'none'
      throw invalid(`names "${name}"; the relations of ${definition.name} are: ${existing}`)
    }
    const entry = entries.get(relation.target)!
    requireReadable(entry.definition, call, name)
    return {
      relation,
      entry,
      reach: entry.reach(call.principal, 'read'),
      shape: entry.shapes.get(call.version!)!.as(call.principal),
      index: names.indexOf(relation.field),
      relations: resolveRelations(entry, entries, call, further),
    }
  })
}

/** Throws `insufficient_scope` unless the caller can list the resource. */
function requireReadable({ access }: ResourceDefinition, { principal }: Call, name: string): void {
  if (access.read === PUBLIC || (principal && holdsScope(principal, access.read))) return
  throw new Failure('insufficient_scope', `expand=${name} needs the scope ${access.read}.`)
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

const isWide = (relations: readonly ExpandedRelation[]): boolean =>
  relations.some(({ entry, relations }) => entry.collection.wide === true || isWide(relations))

/** Returns the JSON members of each row: `"room":{…},"guest":7`. */
async function readMembers(
  reader: Reader,
  relations: readonly ExpandedRelation[],
  rows: readonly (readonly Value[])[],
): Promise<string[]> {
  const members: string[][] = rows.map(() => [])
  for (const expanded of relations) {
    const { relation, index } = expanded
    const texts = await readTexts(reader, expanded, rows)
    for (const [at, row] of rows.entries()) {
      const id = row[index]
      // The id remains for a row out of the caller's reach.
      const text = id === null ? 'null' : (texts.get(id as number) ?? String(id))
      members[at]!.push(`"${relation.name}":${text}`)
    }
  }
  return members.map((parts) => parts.join())
}

/** Reads the rows of a relation in one statement. Returns the JSON text of each by its id. */
async function readTexts(
  reader: Reader,
  { entry, reach, shape, index, relations }: ExpandedRelation,
  rows: readonly (readonly Value[])[],
): Promise<Map<number, string>> {
  const ids = [...new Set(rows.map((row) => row[index]))].filter((id) => typeof id === 'number')
  const related = ids.length === 0 ? [] : await entry.rows.store.findAll(reader, reach, ids)
  const { view } = shape
  const members = await readMembers(reader, relations, related)
  const fields = fieldsWithout(view, omittedFields(relations))
  const texts = related.map((row, at): [number, string] => {
    const text = view.item(row, fields ? { fields } : {})
    return [row[0] as number, withMembers(text, members[at]!)]
  })
  return new Map(texts)
}

/** Returns the JSON text of one row with the expanded members of the request. */
export async function expandRow(
  reader: Reader,
  expansion: PageExpansion,
  view: View,
  row: readonly Value[],
): Promise<string> {
  const fields = fieldsWithout(view, expansion.omits)
  const [members] = await expansion.read(reader, [row])
  return withMembers(view.item(row, fields ? { fields } : {}), members!)
}
