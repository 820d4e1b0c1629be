/**
 * Content negotiation: the media types that a caller accepts (`Accept`, RFC 9110 §12.5.1), and the
 * type of a body (`Content-Type`). `declare/versions/` reads the version in a vendor type. Pure.
 *
 * An `Accept` without a well-formed range counts as absent. `application/problem+json` alone is
 * acceptable everywhere, because it selects the format of errors (§10.1).
 */

import Negotiator from 'negotiator'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Call, Operation, Step } from './call.ts'
import { MEDIA_RANGES_MAX, type MediaType, parseAccept, parseMediaType } from './media-type.ts'

export const JSON_TYPE = 'application/json'
export const PROBLEM_TYPE = 'application/problem+json'
/** The types of an operation that reads, or writes, bodies of any type, or none. */
export const ANY_TYPE: readonly string[] = ['*/*']
const MERGE_PATCH_TYPE = 'application/merge-patch+json'

const ANY_VENDOR = /^application\/vnd\.[\w.-]+\+json$/i
const MAX_CACHED = 256

/**
 * Returns the acceptable types, by preference. Of the parameters, only `q` counts:
 * `application/json; charset=utf-8` means JSON.
 */
function sortByPreference(
  ranges: readonly MediaType[],
  types: readonly string[],
): readonly string[] {
  const quality = ({ parameters }: MediaType) => Number.parseFloat(parameters.get('q') ?? '1') || 0
  const accept = ranges.map((range) => `${range.type};q=${quality(range)}`).join(',')
  return new Negotiator({ headers: { accept } }).mediaTypes([...types])
}

/** Returns the types that a caller accepts, by preference; without `Accept` all of them. */
export function acceptedOf(accept: string | undefined, types: readonly string[]) {
  const ranges = accept === undefined ? [] : (parseAccept(accept) ?? [])
  return ranges.length === 0 || types.length === 0 ? types : sortByPreference(ranges, types)
}

/** Returns the first of `codings` that a caller accepts; undefined for none (RFC 9110 §12.5.3). */
export function findCoding<C extends string>(
  header: string | string[] | undefined,
  codings: readonly C[],
): C | undefined {
  if (header === undefined) return undefined
  const headers = { 'accept-encoding': String(header) }
  const accepted = new Negotiator({ headers }).encodings([...codings])
  return codings.find((coding) => accepted.includes(coding))
}

/** Returns the distinct vendor types among the ranges. */
const vendorTypes = (ranges: readonly MediaType[], pattern: RegExp): readonly string[] => [
  ...new Set(ranges.map(({ type }) => type).filter((type) => pattern.test(type))),
]

/**
 * Returns the type that the caller prefers to JSON; undefined for JSON, which vendor types are.
 */
export function selectMediaType<T extends string>(
  accept: string | undefined,
  types: readonly T[],
): T | undefined {
  if (accept === undefined || accept === '*/*' || accept === JSON_TYPE) return undefined
  const ranges = parseAccept(accept) ?? []
  if (ranges.length === 0 || vendorTypes(ranges, ANY_VENDOR).length > 0) return undefined
  const [first] = sortByPreference(ranges, [JSON_TYPE, ...types])
  return types.find((type) => type === first)
}

/** By `Accept` header: most requests repeat one. */
const problemPreferences = new BoundedMap<string, boolean>(MAX_CACHED)

/** Returns whether the caller prefers errors as `application/problem+json` (§10.1). */
export function prefersProblem(accept: string | undefined): boolean {
  if (!accept || !/problem\+json/i.test(accept)) return false
  return problemPreferences.getOrCreate(accept, () => {
    const ranges = parseAccept(accept) ?? []
    const types = [JSON_TYPE, PROBLEM_TYPE, ...vendorTypes(ranges, ANY_VENDOR)]
    return ranges.length > 0 && sortByPreference(ranges, types)[0] === PROBLEM_TYPE
  })
}

/** Returns the pattern of `application/vnd.<vendor>.api.…+json`. */
export function vendorTypePattern(vendor: string): RegExp {
  return new RegExp(`^application/vnd\\.${RegExp.escape(vendor)}\\.api\\.[\\w.-]+\\+json$`, 'i')
}

/**
 * Returns the vendor type that an `Accept` header prefers, as sent. Undefined without one, and if
 * plain JSON has the same weight and comes first.
 */
export function findPreferredVendorType(accept: string, vendor: RegExp): string | undefined {
  const ranges = parseAccept(accept) ?? []
  const vendors = vendorTypes(ranges, vendor)
  if (vendors.length === 0) return undefined
  const [first] = sortByPreference(ranges, [...vendors, JSON_TYPE])
  return first === JSON_TYPE ? undefined : first
}

const JSON_ONLY: readonly string[] = [JSON_TYPE, PROBLEM_TYPE]

/**
 * Returns the step that rejects a request with 406 `not_acceptable` if the caller accepts none of
 * the operation's media types.
 *
 * @param vendor The vendor in `application/vnd.<vendor>.api.v2+json`, which counts as JSON.
 */
export function requireAcceptable(vendor: string): Step {
  const pattern = vendorTypePattern(vendor)
  const decisions = new WeakMap<readonly string[], BoundedMap<string, boolean>>()
  const isAcceptable = (accept: string, produces: readonly string[]): boolean => {
    const ranges = parseAccept(accept)
    if (!ranges) {
      const message = `Accept lists more than ${MEDIA_RANGES_MAX} media ranges.`
      throw new Failure('not_acceptable', message)
    }
    if (ranges.length === 0) return true
    const json = produces === JSON_ONLY || produces.includes(JSON_TYPE)
    const vendors = json ? vendorTypes(ranges, pattern) : []
    return sortByPreference(ranges, [...produces, ...vendors]).length > 0
  }
  return (call) => {
    const accept = call.headers.accept
    if (accept === undefined || accept === '*/*' || accept === JSON_TYPE) {
      if (accept !== JSON_TYPE || call.operation?.produces === undefined) return
    }
    const produces = call.operation?.produces ?? JSON_ONLY
    if (produces === ANY_TYPE) return
    let cachedDecisions = decisions.get(produces)
    if (!cachedDecisions) decisions.set(produces, (cachedDecisions = new BoundedMap(MAX_CACHED)))
    if (!cachedDecisions.getOrCreate(accept, () => isAcceptable(accept, produces))) {
      const types = produces === JSON_ONLY ? JSON_TYPE : produces.join(', ')
      throw new Failure('not_acceptable', `Only ${types} can be served here.`)
    }
  }
}

const BODY_TYPES: readonly string[] = [JSON_TYPE]
const PATCH_TYPES: readonly string[] = [JSON_TYPE, MERGE_PATCH_TYPE]

/** Returns the media types that an operation reads: its own, or the defaults of the method. */
export function acceptedTypes(operation: Operation, method: string): readonly string[] {
  return operation.accepts ?? (method === 'PATCH' ? PATCH_TYPES : BODY_TYPES)
}

/**
 * Returns why a body with these headers is not supported; undefined if it is.
 *
 * @param types The media types that the operation reads.
 * @param vendor Matches vendor types, which count as JSON.
 */
export function findBodyTypeProblem(
  contentType: string | undefined,
  contentEncoding: string | undefined,
  types: readonly string[],
  vendor: RegExp,
): string | undefined {
  if (isCoded(contentEncoding)) {
    return 'Compressed bodies are not supported.'
  }
  if (types === ANY_TYPE) return undefined
  if (contentType === undefined) return 'The body has no Content-Type.'
  if (types.includes(contentType)) return undefined
  const media = parseMediaType(contentType)
  if (!media) return 'The Content-Type is malformed.'
  const essence = media.type.toLowerCase()
  if (!types.includes(essence) && !(types.includes(JSON_TYPE) && vendor.test(essence))) {
    return `Bodies of type ${essence} are not supported.`
  }
  const charset = media.parameters.get('charset')
  if (charset && !/^utf-?8$/i.test(charset)) return 'The only supported charset is UTF-8.'
  return undefined
}

/** Returns whether a `Content-Type` is a JSON type. */
export function isJsonType(contentType: string): boolean {
  if (contentType === JSON_TYPE) return true
  const type = parseMediaType(contentType)?.type.toLowerCase() ?? ''
  return type.endsWith('/json') || type.endsWith('+json')
}

const isCoded = (contentEncoding: string | undefined): boolean =>
  contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity'

/** Returns the header `Accept-Patch` of a path with PATCH (RFC 5789 §3.1). */
export const patchTypes = ({ acceptPatch }: Pick<Call, 'acceptPatch'>): Record<string, string> =>
  acceptPatch === undefined ? {} : { 'accept-patch': acceptPatch }

/**
 * Returns a 415 that lists what the path supports: the types in `Accept`, those of PATCH, and the
 * coding after a coded body (RFC 9110 §15.5.16).
 */
export function unsupportedMediaType(
  why: string,
  types: readonly string[],
  call: Pick<Call, 'headers' | 'acceptPatch'>,
): Failure {
  const accept = types.join(', ')
  const coding = isCoded(call.headers['content-encoding']) && { 'accept-encoding': 'identity' }
  const headers = { accept, ...coding, ...patchTypes(call) }
  return new Failure('unsupported_media_type', `${why} Send ${accept}.`, { headers })
}
