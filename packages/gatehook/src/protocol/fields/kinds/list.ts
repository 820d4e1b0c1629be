/** `f.array(item, { max })`: a list of values. */
import { reportUnknown, type ShapeOf } from '../declaration-mistakes.ts'
import { declareField, type Field, type InnerWrite, specOf } from '../fields.ts'
import { withBounds } from '../json-schema.ts'
import type { FieldKind, ValueForm } from '../kind.ts'
import { entriesOf, mistypedAs, type ReadValue } from '../reading.ts'
import type { MemberSpec } from '../spec.ts'
import { type JsonForm, jsonForm, jsonKind } from './json-kind.ts'

const ITEMS_MAX = 1000

/** The options of `f.array(item, {…})`. */
export interface ArraySize {
  readonly max: number
  readonly min?: number
}

const arraySize = { max: true, min: true } as const satisfies ShapeOf<ArraySize>

export const listCall = {
  /** A list of at most `max` values: `f.array(f.string(), { max: 10 })`. A patch replaces it. */
  array: <V, X>(
    item: Field<V, InnerWrite, X>,
    size: ArraySize,
  ): Field<readonly V[], 'required', readonly X[]> => {
    reportUnknown('f.array(item, size)', size, arraySize)
    const { max, min } = size ?? {}
    const bounds = { max, ...(min !== undefined && { min }) }
    return declareField('list', { ...bounds, items: specOf('f.array()', item) })
  },
}

function createListReader(
  { items, min = 0, max = Infinity, isSet, nullable }: MemberSpec,
  inside: (spec: MemberSpec) => ReadValue,
): ReadValue {
  const read = inside(items!)
  const mistyped = mistypedAs('an array', nullable)
  return (value, pointer, report) => {
    if (!Array.isArray(value)) return report(pointer, ...mistyped(value))
    if (value.length < min)
      return report(pointer, 'too_short', `must have at least ${entriesOf(min)}`)
    if (value.length > max)
      return report(pointer, 'too_long', `must have at most ${entriesOf(max)}`)
    const values = value.map((item, n) => read(item, `${pointer}/${n}`, report))
    return isSet ? [...new Set(values)] : values
  }
}

function itemsForm({ json }: ValueForm): JsonForm | undefined {
  if (!json) return undefined
  const convert = (direction: 'to' | 'from') => (value: unknown) =>
    Array.isArray(value)
      ? value.map((item: unknown) => (item === null ? null : json[direction](item)))
      : value
  return { to: convert('to'), from: convert('from') }
}

const itemsOf = (length: number, itemOf: (n: number) => unknown): unknown[] =>
  Array.from({ length }, (_, n) => itemOf(n))

export const list: FieldKind = {
  ...jsonKind,
  reader: createListReader,
  schema: (spec, inside) => ({
    ...withBounds({ type: 'array' }, spec, 'minItems', 'maxItems'),
    items: inside.schemaOf(spec.items!),
  }),
  form: ({ items }, inside) => jsonForm(itemsForm(inside(items!))),
  display: 'list',
  hasBounds: true,
  call: 'array',
  callCode: ({ items, min, max }, code) =>
    `${code.field(items!)}, { ${min === undefined ? '' : `min: ${min}, `}max: ${max} }`,
  hasBoundsInCall: true,
  findMistake: ({ max = Infinity }) =>
    max <= ITEMS_MAX ? undefined : `f.array(item, { max }) has a max of at most ${ITEMS_MAX}`,
  sample: ({ name, spec: { items, min = 1 }, inside }) =>
    itemsOf(Math.max(1, min), () => inside(name, items!)),
  bounds({ items, min = 0, max = 1 }, inside) {
    const values = inside(items!)
    return [min, Math.max(min, Math.min(max, 2))].map((length) =>
      itemsOf(length, (n) => values[n % values.length]),
    )
  },
}
