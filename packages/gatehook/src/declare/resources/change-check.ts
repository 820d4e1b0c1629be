/**
 * Runs the changes between versions on rows at the bounds of their fields, when a service is
 * declared (§8.8). A converted row must fit the older shape, and the round trip must return the
 * same row. The newest version must accept the values that an older one accepts. Pure.
 */

import type { FieldError } from '../../kernel/failure.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { isSameValue } from '../../protocol/fields/forms.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { roundTripMismatch } from '../versions/change.ts'
import { boundaryValues, cornerRow } from './boundary-values.ts'
import { hasSameVisibility } from './field-rights.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import { createShape, type VersionShape } from './shape.ts'

/** Returns a sentence for the developer per mistake. */
export function findChangeMistakes(
  definition: ResourceDefinition,
  versions: readonly string[],
): string[] {
  if (definition.changes.length === 0) return []
  const newest = createShape(definition, versions, versions.at(-1)!)
  const rows = sampleRows(definition)
  const mistakes = new Set<string | undefined>()
  for (const version of versions) {
    const shape = createShape(definition, versions, version)
    if (shape.chain.isEmpty) continue
    for (const row of rows) mistakes.add(downMistake(shape, row))
    for (const [name, value] of acceptedValues(definition, shape)) {
      mistakes.add(upMistake(shape, newest, rows[0]!, name, value))
    }
  }
  for (const leak of findLeaks(definition, versions, rows)) mistakes.add(leak)
  return [...mistakes].filter((mistake) => mistake !== undefined)
}

/**
 * Returns a sentence per field of an older version that fields of its kind replace, and that
 * accepts a value which they do not: a text of 200 characters that is split into texts of 40.
 */
export function findNarrowings(
  definition: ResourceDefinition,
  versions: readonly string[],
  version: string,
): string[] {
  const shape = createShape(definition, versions, version)
  if (shape.chain.isEmpty) return []
  const newest = createShape(definition, versions, versions.at(-1)!)
  const [row] = sampleRows(definition)
  return replacedValues(definition, shape).flatMap(([name, value]) => {
    const error = upError(shape, newest, row!, name, value)
    if (!error) return []
    return [
      `${definition.name}: ${version} accepts ${name} ${quoteValue(value)}, but the fields that ` +
        `replace it do not: one ${error.message}`,
    ]
  })
}

/** The values at the bounds of fields that fields of their kind replace. */
const replacedValues = (definition: ResourceDefinition, { specs, chain }: VersionShape) =>
  Object.entries(specs)
    .filter(
      ([name, spec]) =>
        spec !== definition.fields[name] &&
        spec.write !== 'never' &&
        Object.entries(definition.fields).some(
          ([newest, { kind, write }]) =>
            kind === spec.kind && write !== 'never' && chain.oldFieldsOf(newest).includes(name),
        ),
    )
    .flatMap(([name, spec]) => boundaryValues(spec).map((value) => [name, value] as const))

/**
 * Reports fields of an older version that a newer field decides, and that more readers see: callers
 * see a value that the newer version hides, or logs have one that it calls secret.
 */
function* findLeaks(
  definition: ResourceDefinition,
  versions: readonly string[],
  rows: readonly AnyRow[],
) {
  for (const { version, had, up, down } of definition.changes) {
    const { hidden, specs, chain } = createShape(definition, versions, version)
    const olderFields = Object.entries(had as Readonly<Record<string, FieldSpec>>)
    for (const [name, spec] of Object.entries(specs)) {
      const newer = [name, spec] as const
      const decides = (older: readonly [string, FieldSpec], row: AnyRow) =>
        isDecidedBy(older[0], down, row, newer)
      const isUndone = (older: readonly [string, FieldSpec], row: AnyRow) =>
        isDecidedBy(name, (changed) => up({ ...down(row), ...changed }), {}, older)
      const findOlder = (
        isSeen: (older: FieldSpec) => boolean,
        ...relations: readonly (typeof decides)[]
      ): string | undefined =>
        olderFields.find(
          (older) =>
            isSeen(older[1]) &&
            rows.some((row) => relations.some((relates) => relates(older, chain.down(row)))),
        )?.[0]
      // Of the other hidden fields only events lack the value.
      if (hidden.has(name) && (spec.isWriteOnly || spec.visibleTo !== undefined)) {
        const leak = findOlder((older) => !hasSameVisibility(spec, older), decides)
        const modifier = spec.isWriteOnly ? '.writeOnly()' : `.visible('${spec.visibleTo}')`
        if (leak !== undefined) {
          yield `.before('${version}'): ${name} decides ${leak}, and not every caller sees ` +
            `${name}: declare ${leak} with ${modifier}`
        }
      }
      if (spec.isSecret) {
        const isLogged = (older: FieldSpec) => !older.isSecret && !older.isWriteOnly
        const old = findOlder(isLogged, decides, isUndone)
        if (old !== undefined) {
          yield `.before('${version}'): ${old} has the value of ${name}, which is secret, and ` +
            `logs have bodies: declare ${old} with .secret()`
        }
      }
    }
  }
}

/** Whether another value of a field changes what a conversion returns. */
function isDecidedBy(
  result: string,
  convert: (row: AnyRow) => AnyRow,
  row: AnyRow,
  [name, spec]: readonly [string, FieldSpec],
): boolean {
  try {
    const value: unknown = convert(row)[result]
    return boundaryValues(spec).some(
      (other) => !isSameValue(convert({ ...row, [name]: other })[result], value),
    )
  } catch {
    return false // `downMistake` reports it.
  }
}

/** Maximum length of a value in a sentence, in characters. */
const QUOTE_MAX = 40
export const quoteValue = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > QUOTE_MAX ? `${text.slice(0, QUOTE_MAX)}… (${text.length - 2} long)` : text
}

export const reasonOf = ({ pointer, message }: FieldError): string =>
  `${pointer?.slice(1)} ${message}`

const thrownBy = (conversion: 'up' | 'down', version: string, error: unknown): string =>
  `${conversion}() throws for ${version}: ${error instanceof Error ? error.message : String(error)}`

/** Converts a row of the newest shape down. */
function downMistake(
  { version, specs, chain, validators }: VersionShape,
  row: AnyRow,
): string | undefined {
  let old: AnyRow
  try {
    old = chain.down(row)
  } catch (error) {
    return thrownBy('down', version, error)
  }
  const missing = Object.keys(specs).find((name) => old[name] === undefined)
  if (missing !== undefined) return `${version} has ${missing}, but down() returns none`
  const [error] = validators.converted(old).errors
  if (error) {
    const name = error.pointer?.slice(1) ?? ''
    return (
      `${version} would show ${name} as ${quoteValue(old[name])}, but ${reasonOf(error)} there: ` +
      'down() must return a value that fits'
    )
  }
  let mismatch: string | undefined
  try {
    mismatch = roundTripMismatch(chain, row)
  } catch (error) {
    return thrownBy('up', version, error)
  }
  if (mismatch === undefined) return undefined
  const again = chain.down(chain.up(old))
  return (
    `${version} returns ${mismatch} as ${quoteValue(old[mismatch])}, and as ` +
    `${quoteValue(again[mismatch])} after a client sends it back: ` +
    'down(up(down(row))) must equal down(row)'
  )
}

/**
 * The values that an older version accepts and the newest must accept too: each value of a set, and
 * the bounds of fields that changed only their name or bounds. Other conversions may reject values:
 * not every string is a number.
 */
function* acceptedValues(definition: ResourceDefinition, { specs, chain }: VersionShape) {
  for (const [name, spec] of Object.entries(specs)) {
    if (spec === definition.fields[name] || spec.write === 'never') continue
    const isSameKind = definition.fields[chain.renamed[name] ?? '']?.kind === spec.kind
    if (fieldKindOf(spec).isFinite || isSameKind) {
      for (const value of boundaryValues(spec)) yield [name, value] as const
    }
  }
}

export const RANGE_CODES = ['too_small', 'too_large', 'too_short', 'too_long', 'invalid_value']

function upMistake(
  shape: VersionShape,
  newest: VersionShape,
  row: AnyRow,
  name: string,
  value: unknown,
): string | undefined {
  try {
    const error = upError(shape, newest, row, name, value)
    return (
      error &&
      `${shape.version} accepts ${name} ${quoteValue(value)}, but ${newest.version} does not: ` +
        `${reasonOf(error)}. up() must return a value that fits`
    )
  } catch (error) {
    return thrownBy('up', shape.version, error)
  }
}

/** Returns the mistake of the newest fields that an accepted value of an older one causes. */
function upError(
  { chain }: VersionShape,
  newest: VersionShape,
  row: AnyRow,
  name: string,
  value: unknown,
): FieldError | undefined {
  const converted = chain.up({ ...chain.down(row), [name]: value })
  return newest.validators
    .converted(converted)
    .errors.find(
      ({ code, pointer }) =>
        RANGE_CODES.includes(code) && chain.oldFieldOf(pointer!.slice(1)) === name,
    )
}

/** Returns declared samples, then a row for each boundary value of each field. */
function sampleRows({ fields, sample }: ResourceDefinition): AnyRow[] {
  const base = cornerRow(fields, -1)
  const samples = sample ? [0, 1, 2, 3].map((n) => ({ ...base, ...sample(n) })) : []
  const first = samples[0] ?? base
  const boundaryRows = Object.entries(fields).flatMap(([name, spec]) =>
    boundaryValues(spec).map((value) => ({ ...first, [name]: value })),
  )
  return [...samples, ...boundaryRows, cornerRow(fields, 0), base]
}
