/**
 * A text that lists filter or sort, and that several new texts replace: a derived field has the
 * value of the old one, so that older versions filter and sort by it. Pure.
 */
import { listOf, type Node, nodeOf } from './document.ts'
import type { LockedField, LockedFields } from './lock.ts'

/** The parameters of a list by which a promised field is used. */
export interface ListedField {
  readonly filter: boolean
  readonly sort: boolean
}

/** Returns the use of each field in the lists of a resource, by its name. */
export function listedFields(document: Node, resource: string): ReadonlyMap<string, ListedField> {
  const paths = Object.entries(nodeOf(document.paths))
  const path = paths.find(([name]) => name.endsWith(`/${resource}`))
  const parameters = listOf(nodeOf(nodeOf(path?.[1]).get).parameters).map(nodeOf)
  const sort = parameters.find(({ name }) => name === 'sort')
  const sorted = listOf(nodeOf(nodeOf(sort?.schema).items).enum).map(String)
  const filtered = parameters.map(({ name }) => String(name))
  return new Map(
    [...new Set([...filtered, ...sorted])].map((name) => [
      name,
      { filter: filtered.includes(name), sort: sorted.includes(name) },
    ]),
  )
}

export interface FieldSplit {
  /** The promised field. */
  readonly old: string
  /** The new fields, in declared order. */
  readonly parts: readonly string[]
  /** The derived field with the value of the old one. */
  readonly derived: string
  readonly listed: ListedField
  /** The promised field, whose bounds the derived one has. */
  readonly field: LockedField
}

const isText = ({ kind, idPrefix }: LockedField): boolean =>
  kind === 'string' && idPrefix === undefined

/** Finds the text that at least two new required texts replace. */
export function findSplit(
  promised: LockedFields,
  current: LockedFields,
  listed: ReadonlyMap<string, ListedField>,
  base: string,
): FieldSplit | undefined {
  const removed = Object.keys(promised).filter((name) => !Object.hasOwn(current, name))
  const [old, ...others] = removed.filter((name) => isText(promised[name]!) && listed.has(name))
  const parts = Object.keys(current).filter(
    (name) =>
      !Object.hasOwn(promised, name) &&
      isText(current[name]!) &&
      current[name]!.write === 'required',
  )
  if (old === undefined || others.length > 0 || parts.length < 2) return undefined
  const field = promised[old]!
  return { old, parts, derived: `${old}_${base}`, listed: listed.get(old)!, field }
}

/** Returns the lines to add to the fields and the lists of the resource. */
export function splitDeclaration({ derived, parts, listed, field }: FieldSplit): string {
  const bounds = (['min', 'max'] as const)
    .filter((bound) => field[bound] !== undefined)
    .map((bound) => `.${bound}(${field[bound]})`)
  const joined = `trim(${parts.join(" || ' ' || ")})`
  const expression = field.max === undefined ? joined : `substr(${joined}, 1, ${field.max})`
  const lists = (['filter', 'sort'] as const).filter((list) => listed[list])
  return [
    `${derived}: f.derived(f.string()${bounds.join('')}, "${expression}"),`,
    `// and '${derived}' in list.${lists.join(' and list.')}`,
  ].join('\n')
}

/** Returns the SQL that fills the new columns of existing rows. */
export function splitSql(resource: string, { old, parts }: FieldSplit): string[] {
  return [
    ...parts.map(
      (part) => `ALTER TABLE ${resource} ADD COLUMN ${part} {text} NOT NULL DEFAULT '';`,
    ),
    `UPDATE ${resource} SET ${parts.map((part) => `${part} = <from ${old}>`).join(', ')};`,
    `DROP INDEX ${resource}_by_${old};`,
    `ALTER TABLE ${resource} DROP COLUMN ${old}`,
  ]
}
