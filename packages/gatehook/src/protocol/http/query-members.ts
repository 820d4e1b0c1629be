/** Reads declared query parameters: numbers, booleans and texts, each at most once. */

import { Failure } from '../../kernel/failure.ts'
import { memberKindOf } from '../fields/kinds/table.ts'
import type { MemberSpec, MemberSpecs } from '../fields/spec.ts'
import type { Call } from './call.ts'
import { parameterFailure, versionParameters } from './query.ts'

/** Converts a parameter to JSON. Text of another form stays text, which is then invalid. */
const parseText = (spec: MemberSpec, text: string): unknown => {
  const { fromQuery } = memberKindOf(spec)
  return fromQuery ? fromQuery(text) : text
}

/** Throws 400 `unknown_parameter` for a parameter that the operation does not have (§7.7). */
export function rejectUnknownParameters(
  { query }: Pick<Call, 'query'>,
  isKnown: (name: string) => boolean,
): void {
  for (const [name] of query.entries) {
    if (isKnown(name) || name === 'api_key' || versionParameters.has(name)) continue
    throw parameterFailure('unknown_parameter', name, 'is not a parameter here')
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
  return (call) => {
    const { query } = call
    if (!isList) rejectUnknownParameters(call, isDeclared)
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
      if (!(error instanceof Failure) || !error.errors?.[0]) throw error
      const [first] = error.errors
      throw parameterFailure('invalid_parameter', first.pointer?.slice(1) ?? '', first.message)
    }
  }
}
