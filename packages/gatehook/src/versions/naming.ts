/**
 * Which version a call names, and where: path, query, headers, media types (§8.1–8.3). All that is
 * given must agree. Pure; what a call that names none gets is `negotiate.ts`.
 */

import type { Call } from '../http/call.ts'
import { JSON_TYPE, preferredVendorType, vendorPattern } from '../http/media.ts'
import { parameterFailure, versionParameters } from '../http/query.ts'
import { BoundedMap } from '../kernel/bounded-map.ts'
import { Failure, type FailureCode } from '../kernel/failure.ts'
import { parseTime } from '../kernel/time.ts'

export interface NamedVersion {
  readonly name: string
  /** A date that is another name of it. */
  readonly released: string
}

export type NamingCall = Pick<Call, 'versionSegment' | 'query' | 'headers' | 'operation'>

export interface Naming {
  /**
   * The version a call names, or undefined. Throws 400 `invalid_version`, `unsupported_version`,
   * `version_conflict`; 404 `unknown_version` for the path, 406 `not_acceptable` for `Accept`.
   */
  versionOf(call: NamingCall): string | undefined
  /** The media type to answer with where `Accept` named a version by it, as it was written. */
  vendorType(accept: string | undefined): string | undefined
}

const MAJOR = /^v[1-9][0-9]*$/
/** `2` means `v2` everywhere but in the path. */
const WORD = /^v?[1-9][0-9]*$/
const DAY = /^\d{4}-\d{2}-\d{2}$/
const SHOWN_MAX = 40
/** Answers about `Accept` are kept: callers repeat themselves. */
const KEPT = 256

const wellFormed = (text: string): boolean =>
  WORD.test(text) || (DAY.test(text) && parseTime(text) !== undefined)

/** A version found, and where, for the sentence that tells of a conflict. */
interface Found {
  readonly version: string
  readonly where: string
}

/** Makes the failure of a place; `what` completes the sentence begun with the place. */
type Refuse = (code: FailureCode, what: string) => Failure

const refusing =
  (where: string): Refuse =>
  (code, what) =>
    new Failure(code, `${where} ${what}.`)

const quoted = (text: string): string => `"${text.slice(0, SHOWN_MAX)}"`

/** What a version may be called: in the path, and everywhere else. */
function vocabulary(versions: readonly NamedVersion[]) {
  const majors = new Set(versions.map(({ name }) => name))
  const words = new Map<string, string>()
  for (const { name, released } of versions) {
    for (const word of [name, name.slice(1), released]) words.set(word, name)
  }
  const listed = [...majors].join(', ')
  return {
    inPath(segment: string): string {
      if (majors.has(segment)) return segment
      const said = quoted(segment)
      if (MAJOR.test(segment)) throw new Failure('unknown_version', `There is no version ${said}.`)
      throw new Failure(
        'invalid_version',
        `${said} is not a version. Versions are whole majors, for example v1.`,
      )
    },
    read(text: string, refuse: Refuse, unknown: FailureCode): string {
      const version = words.get(text)
      if (version !== undefined) return version
      if (wellFormed(text)) throw refuse(unknown, `names ${quoted(text)}; there are ${listed}`)
      throw refuse('invalid_version', `names ${quoted(text)}, which is no version: write ${listed}`)
    },
  }
}

/** The vendor's media types in the headers of a call. */
function vendorTypes(vendor: string) {
  const pattern = vendorPattern(vendor)
  const lead = `application/vnd.${vendor}.api.`.length
  const kept = new BoundedMap<string, string | undefined>(KEPT)
  return {
    word: (type: string): string => type.slice(lead, -'+json'.length),
    wanted(accept: string | undefined): string | undefined {
      if (accept === undefined || accept === '*/*' || accept === JSON_TYPE) return undefined
      return kept.getOrCreate(accept, () => preferredVendorType(accept, pattern))
    },
    /** Of the body, parameters left out. */
    sent({ headers, operation }: NamingCall): string | undefined {
      const type = headers['content-type']
      if (type === undefined || type === JSON_TYPE) return undefined
      if (operation?.body === undefined) return undefined
      const essence = type.split(';', 1)[0]!.trim()
      return pattern.test(essence) ? essence : undefined
    },
  }
}

export function createNaming(versions: readonly NamedVersion[], vendor: string): Naming {
  const { inPath, read } = vocabulary(versions)
  const types = vendorTypes(vendor)

  const fromHeader = (value: unknown, where: string): Found | undefined => {
    if (value === undefined) return undefined
    let found: Found | undefined
    // Repeated lines of a header reach us joined.
    for (const part of String(value).split(',')) {
      const version = read(part.trim(), refusing(where), 'unsupported_version')
      found = agree(found, { version, where })
    }
    return found
  }

  const fromQuery = (call: NamingCall): Found | undefined => {
    let found: Found | undefined
    for (const [name, value] of call.query.entries) {
      if (!versionParameters.has(name)) continue
      const refuse: Refuse = (code, what) => parameterFailure(code, name, what)
      const version = read(value, refuse, 'unsupported_version')
      found = agree(found, { version, where: `the parameter ${name}` })
    }
    return found
  }

  const fromType = (type: string | undefined, where: string, unknown: FailureCode) =>
    type === undefined
      ? undefined
      : { version: read(types.word(type), refusing(where), unknown), where }

  return {
    vendorType: types.wanted,
    versionOf(call) {
      const { versionSegment: segment, headers } = call
      const inHeaders = headers['x-api-version'] ?? headers['api-version']
      const wanted = types.wanted(headers.accept)
      const sent = types.sent(call)
      const version = segment === undefined ? undefined : inPath(segment)
      const named = call.query.entries.length > 0 ? fromQuery(call) : undefined
      // Most calls name their version in the path and nowhere else.
      if (named === undefined && (inHeaders ?? wanted ?? sent) === undefined) return version
      const found = [
        version === undefined ? undefined : { version, where: 'the path' },
        named,
        fromHeader(headers['x-api-version'], 'X-API-Version'),
        fromHeader(headers['api-version'], 'API-Version'),
        fromType(wanted, 'Accept', 'not_acceptable'),
        fromType(sent, 'Content-Type', 'unsupported_version'),
      ]
      return found.reduce(agree)?.version
    },
  }
}

/** Both, where they are one; throws `version_conflict`. */
function agree(one: Found | undefined, other: Found | undefined): Found | undefined {
  if (one === undefined || other === undefined) return one ?? other
  if (one.version === other.version) return one
  throw new Failure(
    'version_conflict',
    `The request names ${one.version} in ${one.where} and ${other.version} in ${other.where}.`,
  )
}
