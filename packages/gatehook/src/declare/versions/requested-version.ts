/**
 * The version that a request names in its path, query, headers or media types (§8.1–8.3). All
 * names must agree. Pure; `negotiation.ts` selects the version of a request that names none.
 */

import { BoundedMap } from '../../kernel/bounded-map.ts'
import { Failure, type FailureCode } from '../../kernel/failure.ts'
import { parseTime } from '../../kernel/time.ts'
import type { Call } from '../../protocol/http/call.ts'
import {
  findPreferredVendorType,
  JSON_TYPE,
  vendorTypePattern,
} from '../../protocol/http/content-negotiation.ts'
import { parameterFailure, versionParameters } from '../../protocol/http/query.ts'

interface VersionNames {
  readonly name: string
  /** The release day, which is a second name. */
  readonly released: string
}

export type VersionedCall = Pick<Call, 'versionSegment' | 'query' | 'headers' | 'operation'>

export interface VersionReader {
  /**
   * Returns the version that a request names, or undefined. Throws 400 `invalid_version`,
   * `unsupported_version`, `version_conflict`; 404 `unknown_version` for the path, 406
   * `not_acceptable` for `Accept`.
   */
  versionOf(call: VersionedCall): string | undefined
  /** Returns the vendor media type that `Accept` prefers, as the client wrote it. */
  vendorType(accept: string | undefined): string | undefined
}

const MAJOR = /^v[1-9][0-9]*$/
/** `2` means `v2` everywhere except in the path. */
const WORD = /^v?[1-9][0-9]*$/
const DAY = /^\d{4}-\d{2}-\d{2}$/
const QUOTE_MAX = 40
/** Entries of the cache of `Accept` values. */
const ACCEPT_CACHE_MAX = 256

const isWellFormed = (text: string): boolean =>
  WORD.test(text) || (DAY.test(text) && parseTime(text) !== undefined)

/** A version, and the part of the request that names it. */
interface VersionMention {
  readonly version: string
  readonly where: string
}

/** Creates the failure of a part of the request. `problem` completes the sentence. */
type CreateFailure = (code: FailureCode, problem: string) => Failure

const failureIn =
  (where: string): CreateFailure =>
  (code, problem) =>
    new Failure(code, `${where} ${problem}.`)

const quoteText = (text: string): string => `"${text.slice(0, QUOTE_MAX)}"`

/** The names of versions, in the path and elsewhere. */
function versionParsers(versions: readonly VersionNames[]) {
  const majors = new Set(versions.map(({ name }) => name))
  const versionByName = new Map<string, string>()
  for (const { name, released } of versions) {
    for (const word of [name, name.slice(1), released]) versionByName.set(word, name)
  }
  const majorList = [...majors].join(', ')
  return {
    parseSegment(segment: string): string {
      if (majors.has(segment)) return segment
      const quote = quoteText(segment)
      if (MAJOR.test(segment)) throw new Failure('unknown_version', `There is no version ${quote}.`)
      throw new Failure(
        'invalid_version',
        `${quote} is not a version. Versions are whole majors, for example v1.`,
      )
    },
    parseName(text: string, createFailure: CreateFailure, unknownCode: FailureCode): string {
      const version = versionByName.get(text)
      if (version !== undefined) return version
      if (isWellFormed(text)) {
        throw createFailure(unknownCode, `names ${quoteText(text)}; the versions are ${majorList}`)
      }
      const problem = `names ${quoteText(text)}, which is not a version: use ${majorList}`
      throw createFailure('invalid_version', problem)
    },
  }
}

/** The vendor media types in the headers of a request. */
function vendorTypes(vendor: string) {
  const pattern = vendorTypePattern(vendor)
  const prefixLength = `application/vnd.${vendor}.api.`.length
  const typeByAccept = new BoundedMap<string, string | undefined>(ACCEPT_CACHE_MAX)
  return {
    versionName: (type: string): string => type.slice(prefixLength, -'+json'.length),
    accepted(accept: string | undefined): string | undefined {
      if (accept === undefined || accept === '*/*' || accept === JSON_TYPE) return undefined
      return typeByAccept.getOrCreate(accept, () => findPreferredVendorType(accept, pattern))
    },
    /** Returns the type of the body, without parameters. */
    ofBody({ headers, operation }: VersionedCall): string | undefined {
      const type = headers['content-type']
      if (type === undefined || type === JSON_TYPE) return undefined
      if (operation?.body === undefined) return undefined
      const essence = type.split(';', 1)[0]!.trim()
      return pattern.test(essence) ? essence : undefined
    },
  }
}

/**
 * Creates the reader of one service's versions.
 *
 * @param vendor the name in `application/vnd.<vendor>.api.v1+json`
 */
export function createVersionReader(
  versions: readonly VersionNames[],
  vendor: string,
): VersionReader {
  const { parseSegment, parseName } = versionParsers(versions)
  const types = vendorTypes(vendor)

  const readHeader = (value: unknown, where: string): VersionMention | undefined => {
    if (value === undefined) return undefined
    let mention: VersionMention | undefined
    // Node joins the lines of a repeated header.
    for (const part of String(value).split(',')) {
      const version = parseName(part.trim(), failureIn(where), 'unsupported_version')
      mention = agree(mention, { version, where })
    }
    return mention
  }

  const readQuery = (call: VersionedCall): VersionMention | undefined => {
    let mention: VersionMention | undefined
    for (const [name, value] of call.query.entries) {
      if (!versionParameters.has(name)) continue
      const createFailure: CreateFailure = (code, problem) => parameterFailure(code, name, problem)
      const version = parseName(value, createFailure, 'unsupported_version')
      mention = agree(mention, { version, where: `the parameter ${name}` })
    }
    return mention
  }

  const readType = (type: string | undefined, where: string, unknownCode: FailureCode) =>
    type === undefined
      ? undefined
      : { version: parseName(types.versionName(type), failureIn(where), unknownCode), where }

  return {
    vendorType: types.accepted,
    versionOf(call) {
      const { versionSegment: segment, headers } = call
      const inHeaders = headers['x-api-version'] ?? headers['api-version']
      const acceptedType = types.accepted(headers.accept)
      const bodyType = types.ofBody(call)
      const version = segment === undefined ? undefined : parseSegment(segment)
      const inQuery = call.query.entries.length > 0 ? readQuery(call) : undefined
      // Most requests name their version in the path only.
      if (inQuery === undefined && (inHeaders ?? acceptedType ?? bodyType) === undefined) {
        return version
      }
      const mentions = [
        version === undefined ? undefined : { version, where: 'the path' },
        inQuery,
        readHeader(headers['x-api-version'], 'X-API-Version'),
        readHeader(headers['api-version'], 'API-Version'),
        readType(acceptedType, 'Accept', 'not_acceptable'),
        readType(bodyType, 'Content-Type', 'unsupported_version'),
      ]
      return mentions.reduce(agree)?.version
    },
  }
}

/** Returns the version of both mentions. Throws `version_conflict` if they differ. */
function agree(
  first: VersionMention | undefined,
  second: VersionMention | undefined,
): VersionMention | undefined {
  if (first === undefined || second === undefined) return first ?? second
  if (first.version === second.version) return first
  const [left, right] = [first, second].map(({ version, where }) => `${version} in ${where}`)
  throw new Failure('version_conflict', `The request names ${left} and ${right}.`)
}
