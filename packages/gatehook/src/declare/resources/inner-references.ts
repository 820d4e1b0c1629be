/**
 * References inside the values of fields: `f.ref` in `f.object` and `f.array` (§15.9). The table of
 * words has one for each row to which a value refers (`search-index.ts`), so that a deletion finds
 * the rows that refer to its row. Pure.
 */
import type { RowId } from '../../kernel/row-id.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { isPlainObject } from '../../protocol/fields/reading.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'

/** The step to each item of a list. */
export const ITEMS = '*'

/** The references of one field in a row: each is a row of the table of words. */
export const INNER_REFERENCES_MAX = 1_000

export interface InnerReference {
  /** The field that has the value. */
  readonly field: string
  /** The way from the value to the id: names of members, and `ITEMS`. */
  readonly steps: readonly string[]
  /** The names of the way: `lines.product_id`. */
  readonly path: string
  readonly spec: FieldSpec
  /** The most ids of a value. */
  readonly most: number
}

/** Returns the references inside the values of fields, in declared order. */
export const innerReferencesOf = (fields: FieldSpecs): InnerReference[] =>
  Object.entries(fields).flatMap(([field, spec]) =>
    referencesIn(spec, []).map(({ steps, spec: inner, most }) => {
      const names = steps.filter((step) => step !== ITEMS)
      return { field, steps, path: [field, ...names].join('.'), spec: inner, most }
    }),
  )

function referencesIn(
  spec: FieldSpec,
  steps: readonly string[],
): Pick<InnerReference, 'steps' | 'spec' | 'most'>[] {
  if (spec.kind === 'ref') return steps.length > 0 ? [{ steps, spec, most: 1 }] : []
  const { items, members = {}, max = 1 } = spec
  if (items && !fieldKindOf(spec).isMap) {
    return referencesIn(items as FieldSpec, [...steps, ITEMS]).map((inner) => ({
      ...inner,
      most: inner.most * max,
    }))
  }
  return Object.entries(members as FieldSpecs).flatMap(([name, member]) =>
    referencesIn(member, [...steps, name]),
  )
}

/** Returns a value in which `change` has replaced what the steps lead to. */
export function mapInside(
  value: unknown,
  [step, ...rest]: readonly string[],
  change: (inner: unknown, pointer: string) => unknown,
  pointer = '',
): unknown {
  if (step === undefined) return change(value, pointer)
  if (step === ITEMS) {
    if (!Array.isArray(value)) return value
    return value.map((item, n) => mapInside(item, rest, change, `${pointer}/${n}`))
  }
  if (!isPlainObject(value) || !Object.hasOwn(value, step)) return value
  return { ...value, [step]: mapInside(value[step], rest, change, `${pointer}/${step}`) }
}

/** Returns each id of a value with the pointers to it, in their order. */
export function idsInside(
  value: unknown,
  steps: readonly string[],
): ReadonlyMap<RowId, readonly string[]> {
  const pointers = new Map<RowId, string[]>()
  mapInside(value, steps, (id, pointer) => {
    if (typeof id !== 'string' && typeof id !== 'number') return id
    const earlier = pointers.get(id)
    if (earlier) earlier.push(pointer)
    else pointers.set(id, [pointer])
    return id
  })
  return pointers
}

/** Returns the value without an id, which `.onDelete('setNull')` clears. */
export const withoutId = (
  value: unknown,
  { steps }: Pick<InnerReference, 'steps'>,
  id: RowId,
): unknown => mapInside(value, steps, (inner) => (inner === id ? null : inner))

/** The beginning of the words of references; no word of a text begins so. */
export const REFERENCE_MARKS = { stored: '=', deleted: '~' } as const

/** The marks by whether the row that refers is marked as deleted: a search for others skips it. */
const referenceMark = (isDeleted: boolean) =>
  isDeleted ? REFERENCE_MARKS.deleted : REFERENCE_MARKS.stored

/** The beginning of the words of a reference. */
export const referencePrefix = (path: string, isDeleted: boolean): string =>
  `${referenceMark(isDeleted)}${path}=`

/** Returns the word of a row that refers to an id. */
export const referenceWord = (path: string, id: RowId, isDeleted: boolean): string =>
  `${referencePrefix(path, isDeleted)}${id}`

/**
 * Returns the words of the references of a row.
 *
 * @param cellOf returns the value of a field, or its JSON text, as tables have it
 * @param isDeleted whether the row is marked as deleted
 */
export const referenceWords = (
  references: readonly InnerReference[],
  cellOf: (field: string) => unknown,
  isDeleted: boolean,
): string[] =>
  references.flatMap(({ field, steps, path }) => {
    const cell = cellOf(field)
    const value: unknown = typeof cell === 'string' ? JSON.parse(cell) : cell
    return [...idsInside(value, steps).keys()].map((id) => referenceWord(path, id, isDeleted))
  })
