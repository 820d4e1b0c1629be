/** Finds texts that a declaration indexes and that are too long for the key of an index. Pure. */
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { columnType } from './column-types.ts'
import type { ResourceDefinition } from './resource.ts'
import { uniqueTuples } from './table.ts'

/**
 * Maximum characters of the texts of an index. A key of a PostgreSQL B-tree has at most 2,704
 * bytes, and a character up to four.
 */
const INDEXED_TEXT_MAX = 600
/** Identifiers that the engine generates declare no maximum; they are shorter than any bound. */
const DEFAULT_MAX = 3

/** Returns a sentence per text that is too long for an index of a list or of `unique`. */
export function findIndexMistakes(resource: ResourceDefinition): string[] {
  const { sortIndexes, filterIndexes, prefix } = resource
  const tuples = [
    ...sortIndexes,
    ...[...filterIndexes, ...prefix].map((name) => [name]),
    ...uniqueTuples(resource).filter(({ length }) => length > 1),
  ]
  // Of a text in several indexes the least bound: one sentence says what to declare.
  const bounds = new Map<string, number>()
  for (const tuple of tuples) {
    const max = INDEXED_TEXT_MAX / tuple.length
    for (const name of tuple) bounds.set(name, Math.min(max, bounds.get(name) ?? max))
  }
  return [...bounds].flatMap(([name, max]) => lengthMistakes(resource, name, max))
}

function lengthMistakes({ fields }: ResourceDefinition, name: string, max: number): string[] {
  const spec = Object.hasOwn(fields, name) ? fields[name]! : undefined
  if (!spec || columnType(spec) !== 'text' || spec.values) return []
  if (fieldKindOf(spec).isMap) return [] // reads rows within the bounds of §7.10
  const length = spec.max ?? DEFAULT_MAX
  if (length <= max) return []
  return [
    `no index can serve ${name}, whose text can have ${length} characters; lower .max() to ` +
      `${Math.floor(max)}, or remove it from list.sort, list.filter, list.prefix and unique`,
  ]
}
