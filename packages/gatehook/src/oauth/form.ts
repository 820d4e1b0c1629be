/** Parameters of OAuth requests, from a query or a form: each at most once (RFC 6749 §3). Pure. */
import type { Call } from '../http/call.ts'
import { Query } from '../http/query.ts'
import { Refusal } from './refusal.ts'

/** What forms are sent as. */
export const FORM_TYPES: readonly string[] = ['application/x-www-form-urlencoded']

export type Parameters = ReadonlyMap<string, string>

/**
 * A parameter without a value counts as not sent (RFC 6749 §3.1, §3.2). Throws `invalid_request`
 * where one stands twice: two readers would take it for two different requests.
 */
export function once(query: Query): Parameters {
  const parameters = new Map<string, string>()
  for (const [name, value] of query.entries) {
    if (parameters.has(name)) {
      throw new Refusal('invalid_request', `The parameter ${shown(name)} stands more than once.`)
    }
    parameters.set(name, value)
  }
  for (const [name, value] of parameters) if (value === '') parameters.delete(name)
  return parameters
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The parameters of a form. The query must be empty: secrets in a URL end up in logs
 * (RFC 6749 §2.3.1).
 */
export function formOf({ query, bytes }: Pick<Call, 'query' | 'bytes'>): Parameters {
  if (query.entries.length > 0) {
    throw new Refusal('invalid_request', 'Parameters are sent in the body, not in the URL.')
  }
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new Refusal('invalid_request', 'The body is not UTF-8.')
  }
  return once(Query.parse(text))
}

/** A parameter that has to be there. */
export function needed(parameters: Parameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) {
    throw new Refusal('invalid_request', `The parameter ${name} is missing.`)
  }
  return value
}

/** RFC 6749 §5.2 allows few characters in a description, and a caller's text may hold any. */
const shown = (name: string): string => (/^\w{1,40}$/.test(name) ? name : 'of an odd name')
