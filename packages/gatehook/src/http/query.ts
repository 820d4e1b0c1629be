/** The query string, strictly: percent-decoding that fails by name, repeats kept. Pure. */
import { Failure, type FailureCode } from '../kernel/failure.ts'

/** Parameters that name a version (§8.2): known to every path under `/api`. */
export const versionParameters: ReadonlySet<string> = new Set(['version', 'v', 'api-version'])

/** A refusal that names the parameter at fault; `what` completes the sentence begun with it. */
export function parameterFailure(code: FailureCode, parameter: string, what: string): Failure {
  const message = `${parameter} ${what}.`
  return new Failure(code, message, { errors: [{ parameter, code, message }] })
}

/** `parameter`: whose value it is; undefined when the name itself cannot be read. */
function malformed(what: string, parameter?: string): Failure {
  const code = 'invalid_parameter'
  const message = `The query string is not valid: ${what}.`
  const errors = parameter === undefined ? undefined : [{ parameter, code, message }]
  return new Failure(code, message, errors && { errors })
}

/** The parameters in the order sent; a name may stand more than once. */
export class Query {
  readonly entries: readonly (readonly [name: string, value: string])[]

  constructor(entries: readonly (readonly [string, string])[]) {
    this.entries = entries
  }

  static readonly empty = new Query([])

  /** Throws `invalid_parameter` for broken escapes, bytes that are not UTF-8, and NUL. */
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

  /** The first value of a name. */
  get(name: string): string | undefined {
    for (const entry of this.entries) if (entry[0] === name) return entry[1]
    return undefined
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  /** Names that stand more than once. */
  repeated(): string[] {
    const seen = new Set<string>()
    const twice = new Set<string>()
    for (const [name] of this.entries) (seen.has(name) ? twice : seen).add(name)
    return [...twice]
  }
}

const PLAIN = /^[\x21-\x24\x26-\x2a\x2c-\x7e]*$/

function decode(text: string, name?: string): string {
  if (PLAIN.test(text)) return text
  let out: string
  try {
    out = decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed('a percent escape is broken or not UTF-8', name)
  }
  if (out.includes('\0')) throw malformed('it contains NUL', name)
  return out
}
