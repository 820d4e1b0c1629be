/**
 * Computed fields: `f.computed(type)` with the function of `.compute(name, …)`. A stored one is a
 * column, which each change of the row updates; another is computed when a row is read. Pure.
 */
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { AnyRow } from '../versions/change.ts'

/** Returns the value of a field from the other fields of the row. */
export type ComputeValue = (row: AnyRow) => unknown

interface ComputedSource {
  readonly name: string
  readonly fields: Readonly<Record<string, FieldSpec>>
  readonly computations: Readonly<Record<string, ComputeValue>>
}

/** The lists of a resource that name fields. */
type ListDefinition = Readonly<
  Record<'filter' | 'sort' | 'prefix' | 'contains', readonly string[]>
> & {
  readonly unique: readonly (readonly string[])[]
}

/** Returns the fields of rows in statements, columns and derived fields, in declared order. */
export const columnFields = (
  fields: Readonly<Record<string, FieldSpec>>,
): (readonly [name: string, spec: FieldSpec])[] =>
  Object.entries(fields).filter(([, { computed }]) => computed !== 'read')

/** Returns the fields that are columns of the table, in declared order. */
export const tableFields = (
  fields: Readonly<Record<string, FieldSpec>>,
): (readonly [name: string, spec: FieldSpec])[] =>
  columnFields(fields).filter(([, { computed }]) => computed !== 'derived')

/** Returns the names of computed columns. */
export const storedComputations = ({ fields }: Pick<ComputedSource, 'fields'>): string[] =>
  Object.keys(fields).filter((name) => fields[name]!.computed === 'stored')

/** Sets the computed values of a row in place, in the order of the calls of `.compute()`. */
export type ComputeRow = (row: AnyRow) => AnyRow

/**
 * Returns the function that sets computed values. It throws if a computation does, and the row then
 * lacks this value and the later ones: the request is 500, and the log names the field.
 *
 * @param isStored whether it also sets those of columns
 */
export function rowComputer(
  { name, fields, computations }: ComputedSource,
  isStored: boolean,
): ComputeRow {
  const computed = Object.entries(computations).filter(
    ([field]) => isStored || fields[field]?.computed === 'read',
  )
  return (row) => {
    for (const [index, [field, compute]] of computed.entries()) {
      try {
        row[field] = compute(row) ?? null
      } catch (cause) {
        for (const [later] of computed.slice(index)) delete row[later]
        throw new Error(`the computation of ${field} of ${name} failed`, { cause })
      }
    }
    return row
  }
}

/** Returns the fields that the computation of a field reads, directly or by other computed ones. */
export function listInputs(
  { computations }: Pick<ComputedSource, 'computations'>,
  name: string,
  row: AnyRow,
): Set<string> {
  const inputs = new Set<string>()
  const visited = new Set<string>()
  const visit = (computed: string) => {
    if (visited.has(computed)) return
    visited.add(computed)
    const observed = new Proxy(row, {
      get(values, field) {
        if (Object.hasOwn(computations, field)) visit(String(field))
        else if (typeof field === 'string' && Object.hasOwn(values, field)) inputs.add(field)
        return Reflect.get(values, field)
      },
    })
    try {
      computations[computed]!(observed)
    } catch {
      // It has read the values that it fails on.
    }
  }
  visit(name)
  return inputs
}

/** Returns a sentence for the developer per mistake. */
export function findComputedMistakes({
  fields,
  filter,
  sort,
  prefix,
  contains,
  unique,
  computations,
}: ComputedSource & ListDefinition): string[] {
  const mistakes: string[] = []
  const indexed = new Set([...filter, ...sort, ...prefix, ...contains, ...unique.flat()])
  for (const [name, spec] of Object.entries(fields)) {
    const { computed } = spec
    if (computed === undefined || computed === 'derived') {
      if (Object.hasOwn(computations, name)) {
        mistakes.push(`.compute('${name}'): ${name} is not an f.computed(…)`)
      }
      continue
    }
    if (!Object.hasOwn(computations, name)) {
      mistakes.push(`${name} is computed, and .compute('${name}', …) is missing`)
    }
    if (computed === 'read' && (indexed.has(name) || spec.unique)) {
      mistakes.push(`${name} is no column: add .stored() to filter, sort or be unique`)
    }
  }
  return mistakes
}
