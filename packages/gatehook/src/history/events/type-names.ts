/**
 * Names of event types in requests (§9.1): `order.paid`, and as patterns `order.*` and `*`. A name
 * that no declared type has is an error: without it, the empty result has no visible cause. Every
 * entry point that accepts names uses this file.
 */

import { closestClause } from '../../kernel/closest.ts'
import { b, type Member } from '../../protocol/fields/members.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import { patternsOfTypes } from './event-pattern.ts'

const IS_NO_TYPE = 'is not a type of event here'

/** The names that each kind of entry point accepts. */
export interface TypeNames {
  readonly types: ReadonlySet<string>
  readonly patterns: ReadonlySet<string>
}

/** @param types - every type that the service and the engine emit */
export const createTypeNames = (types: Iterable<string>): TypeNames => {
  const declaredTypes = new Set(types)
  return { types: declaredTypes, patterns: patternsOfTypes(declaredTypes) }
}

/** A member of a body, or a parameter, that is one of the names. */
export const nameMember = (names: ReadonlySet<string>): Member<string> => b.oneOf([...names])

/** Throws `invalid_parameter` for text that is none of the names. */
export function requireName(
  parameter: string,
  text: string,
  names: ReadonlySet<string>,
  predicate: string = IS_NO_TYPE,
): void {
  if (names.has(text)) return
  const hint = closestClause(text, [...names])
  throw parameterFailure('invalid_parameter', parameter, predicate + hint)
}

/** Returns the names of a parameter, separated by commas. Throws `invalid_parameter`. */
export function readNames(
  parameter: string,
  text: string,
  names: ReadonlySet<string>,
): readonly string[] {
  const parts = text.split(',')
  for (const part of parts) {
    const predicate = parts.length === 1 ? IS_NO_TYPE : `has ${part}, which ${IS_NO_TYPE}`
    requireName(parameter, part, names, predicate)
  }
  return parts
}

/** Returns a list whose filter by `column` accepts declared types only. */
export const withTypeNames = (
  collection: Collection,
  column: string,
  types: Iterable<string>,
): Collection => ({
  ...collection,
  columns: collection.columns.map((listed) =>
    listed.name === column ? { ...listed, oneOf: [...types] } : listed,
  ),
})
