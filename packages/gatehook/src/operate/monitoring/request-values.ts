/**
 * Reads the values that a logged request carries, without the words of its route, its headers and
 * the text of problems: an erasure compares them as a whole (§18.11). Pure.
 */
import { unescape as decodePercent } from 'node:querystring'
import type { RequestRecord } from './request-record.ts'

type CarryingRequest = Pick<RequestRecord, 'path' | 'route' | 'error' | 'exchange'>

/** Yields segments and values of the query, decoded, and texts and numbers in the bodies. */
export function* valuesOfRequest(request: CarryingRequest): Generator<string | number> {
  const { path, route, error, exchange } = request
  const [base = '', ...queries] = path.split('?')
  const words = new Set(route.split('/'))
  for (const segment of base.split('/')) if (!words.has(segment)) yield decodePercent(segment)
  for (const parameter of queries.join('?').split('&')) {
    const value = parameter.slice(parameter.indexOf('=') + 1)
    // An address may have a plus, and a list has commas.
    for (const text of new Set([value, value.replaceAll('+', ' ')])) {
      const decoded = decodePercent(text)
      yield* new Set([decoded, ...decoded.split(',')])
    }
  }
  if (exchange === null) return
  const { body, answer } = JSON.parse(exchange)
  yield* leavesOf(body)
  // A problem has sentences of the server.
  if (error === null) yield* leavesOf(answer?.body)
}

function* leavesOf(value: unknown): Generator<string | number> {
  if (typeof value === 'string' || typeof value === 'number') yield value
  else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) yield* leavesOf(inner)
  }
}
