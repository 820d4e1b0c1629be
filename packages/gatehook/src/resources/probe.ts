/**
 * Tries the changes of a resource on rows at the edges of its fields when it is declared (§8.8):
 * what an old version would show has to fit what it promised, the law has to hold, and what it
 * takes has to be taken. Pure.
 */
import type { FieldError } from '../kernel/failure.ts'
import { roundTripMismatch } from '../versions/change.ts'
import type { FieldSpec } from './fields.ts'
import type { AnyRow, Definition } from './resource.ts'
import type { Specs } from './schema.ts'
import { createShape, type Shape } from './shape.ts'

/** Sentences for the developer; empty where all holds. */
export function probeMistakes(definition: Definition, versions: readonly string[]): string[] {
  if (definition.changes.length === 0) return []
  const newest = createShape(definition, versions, versions.at(-1)!)
  const rows = rowsOf(definition)
  const wrong = new Set<string>()
  for (const version of versions) {
    const shape = createShape(definition, versions, version)
    if (shape.chain.isEmpty) continue
    for (const row of rows) tell(wrong, () => shownWrong(shape, row))
    for (const [name, value] of takenValues(definition, shape)) {
      tell(wrong, () => takenWrong(shape, newest, rows[0]!, name, value))
    }
  }
  return [...wrong]
}

function tell(wrong: Set<string>, probe: () => string | undefined): void {
  const found = probe()
  if (found !== undefined) wrong.add(found)
}

/** Characters of the longest text that is shown in a sentence. */
const SHOWN_MAX = 40
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}… (${text.length - 2} long)` : text
}

const because = ({ pointer, message }: FieldError): string => `${pointer?.slice(1)} ${message}`

/** A row of the newest shape, gone down. */
function shownWrong({ version, specs, chain, validators }: Shape, row: AnyRow): string | undefined {
  let old: AnyRow
  try {
    old = chain.down(row)
  } catch (error) {
    return `down() throws on the way to ${version}: ${(error as Error).message}`
  }
  const missing = Object.keys(specs).find((name) => old[name] === undefined)
  if (missing !== undefined) return `${version} shows ${missing}, but down() gives none`
  const [error] = validators.lifted(old)
  if (error) {
    const name = error.pointer?.slice(1) ?? ''
    return (
      `${version} would show ${name} as ${shown(old[name])}, but ${because(error)} there: ` +
      'let down() give something that fits'
    )
  }
  const breach = roundTripMismatch(chain, row)
  if (breach === undefined) return undefined
  const again = chain.down(chain.up(old))
  return (
    `${version} shows ${breach} as ${shown(old[breach])}, and as ${shown(again[breach])} once it ` +
    'was sent back: down(up(down(row))) must be down(row)'
  )
}

/**
 * What an old version takes at the edges, where the newest must take it too: each word of a set,
 * and the bounds of fields that only changed their name or bounds. Other fields may well be
 * refused: not every text is a number.
 */
function* takenValues(definition: Definition, { specs, chain }: Shape) {
  for (const [name, spec] of Object.entries(specs)) {
    if (spec === definition.fields[name] || spec.write === 'never') continue
    const same = definition.fields[chain.renamed[name] ?? '']?.kind === spec.kind
    if (spec.values || spec.kind === 'bool' || same) {
      for (const value of edgesOf(spec)) yield [name, value] as const
    }
  }
}

const tooMuch = ['too_small', 'too_large', 'too_short', 'too_long', 'invalid_value']

function takenWrong(
  { version, chain }: Shape,
  newest: Shape,
  row: AnyRow,
  name: string,
  value: unknown,
): string | undefined {
  const lifted = chain.up({ ...chain.down(row), [name]: value })
  const error = newest.validators
    .lifted(lifted)
    .find((one) => tooMuch.includes(one.code) && chain.oldFieldOf(one.pointer!.slice(1)) === name)
  return (
    error &&
    `${version} takes ${name} ${shown(value)}, but ${newest.version} does not: ` +
      `${because(error)}. Let up() give something that fits`
  )
}

/** The declaration's own samples, then one row for each edge of each field. */
function rowsOf({ fields, sample }: Definition): AnyRow[] {
  const base: AnyRow = Object.fromEntries(
    Object.entries(fields).map(([name, spec]) => [name, edgesOf(spec).at(-1)]),
  )
  const own = sample ? [0, 1, 2, 3].map((n) => ({ ...base, ...sample(n) })) : []
  const first = own[0] ?? base
  const edges = Object.entries(fields).flatMap(([name, spec]) =>
    edgesOf(spec).map((value) => ({ ...first, [name]: value })),
  )
  return [...own, ...edges, corner(fields, 0), corner(fields, -1)]
}

const corner = (fields: Specs, at: number): AnyRow =>
  Object.fromEntries(Object.entries(fields).map(([name, spec]) => [name, edgesOf(spec).at(at)]))

/** Of numbers without bounds: beyond it a change of unit would only find the limits of doubles. */
const FAR = 1e12
const YEAR_9999 = 253_402_300_799_999

/** Values at the edges of what a field may be, the least first. */
function edgesOf(spec: FieldSpec): readonly unknown[] {
  const { kind, min, max, values, nullable } = spec
  const text = (length: number) => 'x'.repeat(Math.max(0, length))
  const edges: Readonly<Record<FieldSpec['kind'], () => readonly unknown[]>> = {
    id: () => [1, FAR],
    ref: () => [1, FAR],
    string: () => [text(min ?? 0), text(max ?? 0)],
    email: () => ['a@b.de', `${text((max ?? 12) - 6)}@b.deu`],
    url: () => ['https://a.de/', `https://a.de/${text((max ?? 20) - 13)}`],
    currency: () => ['EUR'],
    oneOf: () => values ?? [],
    int: () => [min ?? -FAR, max ?? FAR],
    number: () => [min ?? -FAR, max ?? FAR],
    bool: () => [false, true],
    time: () => [0, YEAR_9999],
  }
  return nullable ? [null, ...edges[kind]()] : edges[kind]()
}
