/** Parses the parameters of OAuth requests, from a query or a form (RFC 6749 §3). Pure. */
import type { Call } from '../../protocol/http/call.ts'
import { Query } from '../../protocol/http/query.ts'
import { OauthError } from './oauth-error.ts'

/** The media types of request bodies (RFC 6749 appendix B). */
export const FORM_TYPES: readonly string[] = ['application/x-www-form-urlencoded']

export type OauthParameters = ReadonlyMap<string, string>

/** The parameter that may repeat (RFC 8707 §2). Its values are URIs, joined by spaces. */
const REPEATABLE = 'resource'

/**
 * Parses a query. A parameter without a value counts as absent. Throws `invalid_request` for a
 * repeated parameter: two parsers might read two different requests.
 *
 * @see RFC 6749 §3.1, §3.2
 */
export function parseParameters(query: Query): OauthParameters {
  const parameters = new Map<string, string>()
  for (const [name, value] of query.entries) {
    if (parameters.has(name)) {
      if (name === REPEATABLE) {
        parameters.set(name, `${parameters.get(name)} ${value}`)
        continue
      }
      throw new OauthError('invalid_request', `The parameter ${printable(name)} is repeated.`)
    }
    parameters.set(name, value)
  }
  for (const [name, value] of parameters) if (value === '') parameters.delete(name)
  return parameters
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses a form body. Throws `invalid_request` if it is not UTF-8, or if the URL has a query:
 * secrets in URLs end up in logs.
 *
 * @see RFC 6749 §2.3.1
 */
export function parseForm({ query, bytes }: Pick<Call, 'query' | 'bytes'>): OauthParameters {
  if (query.entries.length > 0) {
    throw new OauthError('invalid_request', 'Send parameters in the body, not in the URL.')
  }
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new OauthError('invalid_request', 'The body is not UTF-8.')
  }
  return parseParameters(Query.parse(text))
}

/** Returns the resources that a request names (RFC 8707 §2). */
export const resourcesOf = (parameters: OauthParameters): string[] =>
  parameters.get(REPEATABLE)?.split(' ') ?? []

/** Returns a parameter. Throws `invalid_request` if it is absent. */
export function requireParameter(parameters: OauthParameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) {
    throw new OauthError('invalid_request', `The parameter ${name} is missing.`)
  }
  return value
}

/** RFC 6749 §5.2 restricts the characters of a description; a name from a request may have any. */
const printable = (name: string): string => (/^\w{1,40}$/.test(name) ? name : 'of an unusual name')
