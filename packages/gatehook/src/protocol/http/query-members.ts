/** Reads declared query parameters: numbers, booleans and texts, each at most once. */

import { closestClause } from '../../kernel/closest.ts'
import { Failure } from '../../kernel/failure.ts'
import { memberKindOf } from '../fields/kinds/table.ts'
import type { MemberSpec, MemberSpecs } from '../fields/spec.ts'
import type { Call, Handling } from './call.ts'
import { parameterFailure, plusClause, versionParameters } from './query.ts'

/** Converts a parameter to JSON. Text of another form stays text, which is then invalid. */
const parseText = (spec: MemberSpec, text: string): unknown => {
  const { fromQuery } = memberKindOf(spec)
  return fromQuery ? fromQuery(text) : text
}

/** Returns the handler of an operation, which rejects every parameter if it declares none. */
export function withoutUnknownParameters({
  declaration,
  produces,
  handle,
}: Handling): Handling['handle'] {
  const isPage = declaration?.output?.spec.kind === 'page'
  if (!declaration || isPage || declaration.query !== undefined || produces) return handle
  return (call) => {
    rejectUnknownParameters(call, [])
    return handle(call)
  }
}

/** Throws 400 `unknown_parameter` for a parameter that the operation does not have (§7.7). */
export function rejectUnknownParameters(
  { query }: Pick<Call, 'query'>,
  names: readonly string[],
): void {
  for (const [name] of query.entries) {
    if (names.includes(name) || name === 'api_key' || versionParameters.has(name)) continue
    const hint = closestClause(name, names)
    throw parameterFailure('unknown_parameter', name, `is not a parameter here${hint}`)
  }
}

/**
 * Creates a reader that rejects undeclared, repeated and invalid parameters with 400. With `isList`
 * it leaves parameters that are undeclared or repeated to the list (§7.7).
 */
export function createQueryReader<T>(
  specs: MemberSpecs,
  validate: (values: Record<string, unknown>) => T,
  isList = false,
): (call: Pick<Call, 'query'>) => T {
  const isDeclared = (name: string) => Object.hasOwn(specs, name)
  const names = Object.keys(specs)
  return (call) => {
    const { query } = call
    if (!isList) rejectUnknownParameters(call, names)
    const [repeated] = query.repeated()
    if (repeated !== undefined && !isList)
      throw parameterFailure('invalid_parameter', repeated, 'is repeated')
    const values: Record<string, unknown> = {}
    for (const [name, text] of query.entries) {
      if (!isDeclared(name)) continue
      values[name] = parseText(specs[name]!, text)
    }
    try {
      return validate(values)
    } catch (error) {
      // A member that parses its text has thrown the failure of the parameter itself.
      if (!(error instanceof Failure) || error.errors?.[0]?.pointer === undefined) throw error
      const [{ pointer, message }] = error.errors
      const name = pointer.slice(1)
      const hint = plusClause(String(values[name]))
      throw parameterFailure('invalid_parameter', name, message + hint)
    }
  }
}
