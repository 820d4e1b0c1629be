/**
 * Finds mistakes in the changes of a route's query, input or output, when a service is declared
 * (§8.8). It converts values at the bounds of the fields. Pure.
 */

import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { OutputMembers } from './body-fields.ts'
import {
  bodyChanges,
  bodyFormIn,
  type DeclaredMembers,
  fieldSpecsOf,
  newestMembers,
} from './body-versions.ts'
import { boundaryValues, cornerRow } from './boundary-values.ts'
import { findChainMistakes } from './chain-check.ts'
import { quoteValue, RANGE_CODES, reasonOf } from './change-check.ts'
import { createValidators } from './validate.ts'

/** Returns a sentence for the developer per field that no caller can send. */
export const findUnsentFields = (
  specs: Readonly<Record<string, FieldSpec | undefined>>,
): string[] =>
  Object.entries(specs)
    .filter(([, spec]) => spec?.kind === 'id' || spec?.stamp || spec?.write === 'never')
    .map(([name]) => `${name} is set by the service; use f.int(), f.time()`)

/** Returns a sentence for the developer per mistake of a query or an input. */
export function findInputMistakes(
  declared: DeclaredMembers,
  versions: readonly string[],
): string[] {
  const mistakes = [
    ...findUnsentFields(fieldSpecsOf(newestMembers(declared))),
    ...findDeclarationMistakes(declared, 'up', versions),
  ]
  if (mistakes.length > 0) return mistakes
  return versions.flatMap((version) => tryIn('up', () => upMistakes(declared, versions, version)))
}

/** Returns a sentence for the developer per mistake of an output. */
export function findOutputMistakes(
  declared: DeclaredMembers,
  versions: readonly string[],
): string[] {
  const mistakes = findDeclarationMistakes(declared, 'down', versions)
  if (mistakes.length > 0) return mistakes
  return versions.flatMap((version) =>
    tryIn('down', () => downMistakes(declared, versions, version)),
  )
}

/** Reports an exception of a conversion. */
function tryIn(conversion: 'up' | 'down', convert: () => string[]): string[] {
  try {
    return convert()
  } catch (error) {
    return [`${conversion}() throws: ${(error as Error).message}`]
  }
}

function findDeclarationMistakes(
  declared: DeclaredMembers,
  conversion: 'up' | 'down',
  versions: readonly string[],
): string[] {
  const changes = bodyChanges(declared)
  const missing = changes
    .filter((change) => change[conversion] === undefined)
    .map(({ version }) => `.before('${version}'): ${conversion} is required`)
  return [...findChainMistakes(Object.keys(newestMembers(declared)), changes, versions), ...missing]
}

/** Reports values that an older version accepts, and the newest does not. */
function upMistakes(
  declared: DeclaredMembers,
  versions: readonly string[],
  version: string,
): string[] {
  const { members, chain } = bodyFormIn(declared, versions, version)
  if (chain.isEmpty) return []
  const newest = fieldSpecsOf(newestMembers(declared))
  const { converted } = createValidators(newest)
  const specs = fieldSpecsOf(members)
  const base = cornerRow(specs, -1)
  const mistakeOf = (name: string, value: unknown): string[] => {
    const { errors } = converted(chain.up({ ...base, [name]: value }))
    const error = errors.find(
      ({ code, pointer }) =>
        RANGE_CODES.includes(code) && chain.oldFieldOf(pointer!.slice(1)) === name,
    )
    if (!error) return []
    return [
      `${version} accepts ${name} ${quoteValue(value)}, but ${versions.at(-1)} does not: ` +
        `${reasonOf(error)}. up() must return a value that fits`,
    ]
  }
  const replacesKind = (name: string): boolean =>
    Object.entries(newest).some(
      ([field, { kind }]) => kind === specs[name]!.kind && chain.oldFieldsOf(field).includes(name),
    )
  return Object.entries(specs)
    .filter(([name, spec]) => spec !== newest[name] && (spec.values || replacesKind(name)))
    .flatMap(([name, spec]) => boundaryValues(spec).flatMap((value) => mistakeOf(name, value)))
    .slice(0, 1)
}

const hasRows = (members: OutputMembers): boolean =>
  Object.keys(fieldSpecsOf(members)).length < Object.keys(members).length

/** Reports values that an older version does not promise. The start has no rows to convert. */
function downMistakes(
  declared: DeclaredMembers,
  versions: readonly string[],
  version: string,
): string[] {
  const { members, chain } = bodyFormIn(declared, versions, version)
  const newest = newestMembers(declared)
  if (chain.isEmpty || hasRows(newest)) return []
  const specs = fieldSpecsOf(newest)
  const rows = [cornerRow(specs, 0), cornerRow(specs, -1)]
  const { converted } = createValidators(fieldSpecsOf(members))
  for (const row of rows) {
    const old = chain.down(row)
    const missing = Object.keys(members).find((name) => old[name] === undefined)
    if (missing !== undefined) return [`${version} has ${missing}, but down() returns none`]
    const [error] = converted(old).errors
    if (!error) continue
    const name = error.pointer?.slice(1) ?? ''
    return [
      `${version} would show ${name} as ${quoteValue(old[name])}, but ${reasonOf(error)} there: ` +
        'down() must return a value that fits',
    ]
  }
  return []
}
