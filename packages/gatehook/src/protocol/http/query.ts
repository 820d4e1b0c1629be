/** Parses query strings strictly and retains repeated parameters. Pure. */
import { endSentence } from '../../kernel/closest.ts'
import { Failure, type FailureCode } from '../../kernel/failure.ts'

/** The parameters that select a version, on every path under `/api` (§8.2). */
export const versionParameters: ReadonlySet<string> = new Set(['version', 'v', 'api-version'])

/** Parameters of every request: credentials and the version. */
export const engineParameters: ReadonlySet<string> = new Set([
  'api_key',
  'access_token',
  ...versionParameters,
])

/**
 * Returns a failure about one parameter. Its message is the parameter and the predicate, for
 * example `limit` and `must be a whole number`.
 */
export function parameterFailure(code: FailureCode, parameter: string, predicate: string): Failure {
  const message = endSentence(`${parameter} ${predicate}`)
  return new Failure(code, message, { errors: [{ parameter, code, message }] })
}

const SPACE_BEFORE_OFFSET = /^[0-9-]{10}T[0-9:.,]+ [0-9]{2}:?[0-9]{2}$/

/** Returns the clause on an instant whose `+` was not escaped: in a query it means a space. */
export const plusClause = (text: string): string =>
  SPACE_BEFORE_OFFSET.test(text) ? '; a URL has its + as %2B, or the instant in UTC with Z' : ''

/** `parameter`: the name of a malformed value; undefined if the name itself is malformed. */
function malformedQuery(reason: string, parameter?: string): Failure {
  const code: FailureCode = 'invalid_parameter'
  const message = `The query string is not valid: ${reason}.`
  const errors = parameter === undefined ? undefined : [{ parameter, code, message }]
  return new Failure(code, message, errors && { errors })
}

/** The parameters in the order sent; names may be repeated. */
export class Query {
  readonly entries: readonly (readonly [name: string, value: string])[]

  constructor(entries: readonly (readonly [string, string])[]) {
    this.entries = entries
  }

  static readonly empty = new Query([])

  /**
   * Parses a query string. Throws `invalid_parameter` for broken escapes, invalid UTF-8 and NUL.
   */
  static parse(search: string): Query {
    if (search === '') return Query.empty
    const entries: [string, string][] = []
    for (const part of search.split('&')) {
      if (part === '') continue
      const at = part.indexOf('=')
      const name = decode(at < 0 ? part : part.slice(0, at))
      entries.push([name, at < 0 ? '' : decode(part.slice(at + 1), name)])
    }
    return new Query(entries)
  }

  /** Returns the first value of a parameter. */
  get(name: string): string | undefined {
    for (const entry of this.entries) if (entry[0] === name) return entry[1]
    return undefined
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  repeated(): string[] {
    const names = new Set<string>()
    const repeatedNames = new Set<string>()
    for (const [name] of this.entries) (names.has(name) ? repeatedNames : names).add(name)
    return [...repeatedNames]
  }
}

const PLAIN = /^[\x21-\x24\x26-\x2a\x2c-\x7e]*$/

function decode(text: string, name?: string): string {
  if (PLAIN.test(text)) return text
  let decodedText: string
  try {
    decodedText = decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformedQuery('a percent escape is broken or not UTF-8', name)
  }
  if (decodedText.includes('\0')) throw malformedQuery('it contains NUL', name)
  return decodedText
}
