/**
 * Compares the values that two schemas allow: types, enumerations, bounds and formats.
 * `schema-diff.ts` compares members and items. Pure.
 */
import { isEqual, type Node, stableJson } from './document.ts'
import type { ValueChange } from './finding.ts'

const typeWords: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array',
  null: 'null',
}
const ALL_TYPES = ['string', 'number', 'boolean', 'object', 'array', 'null']

export const typesOf = (schema: Node): readonly string[] =>
  schema.type === undefined ? ALL_TYPES : ([schema.type].flat() as string[])

const allows = (types: readonly string[], type: string): boolean =>
  types.includes(type) || (type === 'integer' && types.includes('number'))

/** Returns the values that the newer schema has lost and gained. */
export function valueChanges(old: Node, now: Node): ValueChange[] {
  const [before, after] = [typesOf(old), typesOf(now)]
  const bothAllow = (type: string) => allows(before, type) && allows(after, type)
  return [
    ...before.filter((type) => !allows(after, type)).map((type) => typeChange('lost', type, after)),
    ...after
      .filter((type) => !allows(before, type))
      .map((type) => typeChange('gained', type, before)),
    ...enumChanges(old, now),
    ...bounds.filter(([type]) => bothAllow(type)).flatMap((bound) => boundChanges(bound, old, now)),
    ...(bothAllow('string') ? formatChanges(old.format, now.format) : []),
  ]
}

function typeChange(
  kind: ValueChange['kind'],
  type: string,
  otherTypes: readonly string[],
): ValueChange {
  // A change between `integer` and `number` concerns fractions only.
  const isFraction = type === 'number' && otherTypes.includes('integer')
  return { kind, values: isFraction ? 'a number with a fraction' : (typeWords[type] ?? type) }
}

/** Returns undefined for sets that may change without notice (ISO 4217, event types). */
function enumOf(schema: Node): readonly unknown[] | undefined {
  if (schema['x-open-set'] === true) return undefined
  // `type` says whether null is allowed.
  return (schema.enum as readonly unknown[] | undefined)?.filter((value) => value !== null)
}

function enumChanges(old: Node, now: Node): ValueChange[] {
  const [before, after] = [enumOf(old), enumOf(now)]
  if (before === undefined && after === undefined) return []
  if (before === undefined) return [{ kind: 'lost', values: `a value other than ${words(after!)}` }]
  if (after === undefined) {
    return [{ kind: 'gained', values: `a value other than ${words(before)}` }]
  }
  const lost = before.filter((value) => !after.includes(value))
  const gained = after.filter((value) => !before.includes(value))
  return [
    ...(lost.length > 0 ? [{ kind: 'lost', values: words(lost) } as const] : []),
    ...(gained.length > 0 ? [{ kind: 'gained', values: words(gained) } as const] : []),
  ]
}

const WORDS_MAX = 6
const words = (values: readonly unknown[]): string => {
  const some = values.slice(0, WORDS_MAX).map(stableJson).join(', ')
  return values.length > WORDS_MAX ? `${some} and ${values.length - WORDS_MAX} more` : some
}

/** `none` is the bound of a schema without the keyword. */
type Bound = readonly [
  type: string,
  keyword: string,
  none: number,
  describeOutside: (bound: number) => string,
]

const bounds: readonly Bound[] = [
  ['integer', 'minimum', -Infinity, (bound) => `a number below ${bound}`],
  ['integer', 'maximum', Infinity, (bound) => `a number above ${bound}`],
  ['string', 'minLength', 0, (bound) => `a string of fewer than ${bound} characters`],
  ['string', 'maxLength', Infinity, (bound) => `a string of more than ${bound} characters`],
  ['array', 'minItems', 0, (bound) => `an array of fewer than ${bound} items`],
  ['array', 'maxItems', Infinity, (bound) => `an array of more than ${bound} items`],
]

function boundChanges([, keyword, none, describe]: Bound, old: Node, now: Node): ValueChange[] {
  const before = (old[keyword] ?? none) as number
  const after = (now[keyword] ?? none) as number
  if (before === after) return []
  const isLower = keyword.startsWith('min')
  const tighter = isLower ? Math.max(before, after) : Math.min(before, after)
  return [{ kind: after === tighter ? 'lost' : 'gained', values: describe(tighter) }]
}

function formatChanges(before: unknown, after: unknown): ValueChange[] {
  if (isEqual(before, after)) return []
  const without = (format: unknown) => `a string that is not in the format "${format}"`
  return [
    ...(after === undefined ? [] : [{ kind: 'lost', values: without(after) } as const]),
    ...(before === undefined ? [] : [{ kind: 'gained', values: without(before) } as const]),
  ]
}
