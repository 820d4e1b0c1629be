/**
 * Media types: what a caller accepts (`Accept`, RFC 9110 §12.5.1), what a body is (`Content-Type`).
 * Which version a vendor type names is judged in `versions/`. Pure.
 *
 * An `Accept` without a single readable range is taken as absent: the caller gets JSON, not a
 * riddle. `application/problem+json` alone is enough to be served: it says what errors shall look
 * like (§10.1), and the errors of a request that is turned away with 406 could never be seen.
 */

import Negotiator from 'negotiator'
import { BoundedMap } from '../kernel/bounded-map.ts'
import { Failure } from '../kernel/failure.ts'
import type { Operation, Step } from './call.ts'
import { MEDIA_RANGES_MAX, type MediaType, readAccept, readMediaType } from './media-type.ts'

export const JSON_TYPE = 'application/json'
export const PROBLEM_TYPE = 'application/problem+json'
const MERGE_PATCH_TYPE = 'application/merge-patch+json'

const ANY_VENDOR = /^application\/vnd\.[\w.-]+\+json$/i
const CACHED = 256

/**
 * Which of `types` the ranges take, most wanted first. Parameters but `q` are left out: nothing
 * here has any, and `application/json; charset=utf-8` means JSON.
 */
function preferred(ranges: readonly MediaType[], types: readonly string[]): readonly string[] {
  const quality = ({ parameters }: MediaType) => Number.parseFloat(parameters.get('q') ?? '1') || 0
  const accept = ranges.map((range) => `${range.type};q=${quality(range)}`).join(',')
  return new Negotiator({ headers: { accept } }).mediaTypes([...types])
}

/** The types among the ranges that are of a vendor, each once. */
const vendorTypes = (ranges: readonly MediaType[], pattern: RegExp): readonly string[] => [
  ...new Set(ranges.map(({ type }) => type).filter((type) => pattern.test(type))),
]

/** Answers are remembered, for callers repeat themselves. */
const problemFirst = new BoundedMap<string, boolean>(CACHED)

/** Whether errors are to be `application/problem+json`: named, and wanted as much as JSON. */
export function prefersProblem(accept: string | undefined): boolean {
  if (!accept || !/problem\+json/i.test(accept)) return false
  return problemFirst.getOrCreate(accept, () => {
    const ranges = readAccept(accept) ?? []
    const types = [JSON_TYPE, PROBLEM_TYPE, ...vendorTypes(ranges, ANY_VENDOR)]
    return ranges.length > 0 && preferred(ranges, types)[0] === PROBLEM_TYPE
  })
}

/** `gatehook` → tests whether a type is `application/vnd.gatehook.api.…+json`. */
export function vendorPattern(vendor: string): RegExp {
  return new RegExp(`^application/vnd\\.${RegExp.escape(vendor)}\\.api\\.[\\w.-]+\\+json$`, 'i')
}

/**
 * The type of `vendor`'s that a header wants most, as it is written there; undefined where plain
 * JSON is wanted as much and stands first, or no such type is named.
 */
export function preferredVendorType(accept: string, vendor: RegExp): string | undefined {
  const ranges = readAccept(accept) ?? []
  const vendors = vendorTypes(ranges, vendor)
  if (vendors.length === 0) return undefined
  const [first] = preferred(ranges, [...vendors, JSON_TYPE])
  return first === JSON_TYPE ? undefined : first
}

const JSON_ONLY: readonly string[] = [JSON_TYPE, PROBLEM_TYPE]

/**
 * The step that refuses with 406 `not_acceptable` where nothing the operation produces is wanted.
 * `vendor`: the word in `application/vnd.<vendor>.api.v2+json`, which is JSON too.
 */
export function acceptable(vendor: string): Step {
  const pattern = vendorPattern(vendor)
  const known = new WeakMap<readonly string[], BoundedMap<string, boolean>>()
  const decide = (accept: string, produces: readonly string[]): boolean => {
    const ranges = readAccept(accept)
    if (!ranges) {
      const message = `Accept lists more than ${MEDIA_RANGES_MAX} media ranges.`
      throw new Failure('not_acceptable', message)
    }
    if (ranges.length === 0) return true
    const json = produces === JSON_ONLY || produces.includes(JSON_TYPE)
    const vendors = json ? vendorTypes(ranges, pattern) : []
    return preferred(ranges, [...produces, ...vendors]).length > 0
  }
  return (call) => {
    const accept = call.headers.accept
    if (accept === undefined || accept === '*/*' || accept === JSON_TYPE) {
      if (accept !== JSON_TYPE || call.operation?.produces === undefined) return
    }
    const produces = call.operation?.produces ?? JSON_ONLY
    let answers = known.get(produces)
    if (!answers) known.set(produces, (answers = new BoundedMap(CACHED)))
    if (!answers.getOrCreate(accept, () => decide(accept, produces))) {
      const types = produces === JSON_ONLY ? JSON_TYPE : produces.join(', ')
      throw new Failure('not_acceptable', `Only ${types} can be served here.`)
    }
  }
}

const BODY_TYPES: readonly string[] = [JSON_TYPE]
const PATCH_TYPES: readonly string[] = [JSON_TYPE, MERGE_PATCH_TYPE]

/** The media types an operation reads: its own word, or the defaults of the method. */
export function readTypes(operation: Operation, method: string): readonly string[] {
  return operation.accepts ?? (method === 'PATCH' ? PATCH_TYPES : BODY_TYPES)
}

/**
 * Why a body with these headers is not read, or undefined when it is. `types` are what the
 * operation reads; `vendor` counts as JSON where that is among them.
 */
export function unreadable(
  contentType: string | undefined,
  contentEncoding: string | undefined,
  types: readonly string[],
  vendor: RegExp,
): string | undefined {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    return 'Compressed bodies are not read here.'
  }
  if (contentType === undefined) return 'The body has no Content-Type.'
  if (types.includes(contentType)) return undefined
  const media = readMediaType(contentType)
  if (!media) return 'The Content-Type is malformed.'
  const essence = media.type.toLowerCase()
  if (!types.includes(essence) && !(types.includes(JSON_TYPE) && vendor.test(essence))) {
    return `Bodies of type ${essence} are not read here.`
  }
  const charset = media.parameters.get('charset')
  if (charset && !/^utf-?8$/i.test(charset)) return 'Only UTF-8 is read.'
  return undefined
}

/** Whether a `Content-Type` that is read is one of JSON. */
export function isJson(contentType: string): boolean {
  if (contentType === JSON_TYPE) return true
  const type = readMediaType(contentType)?.type.toLowerCase() ?? ''
  return type.endsWith('/json') || type.endsWith('+json')
}

/** 415 with `Accept`, which names what would be read (RFC 9110 §15.5.16). */
export function unsupported(why: string, types: readonly string[]): Failure {
  const accept = types.join(', ')
  return new Failure('unsupported_media_type', `${why} Send ${accept}.`, { headers: { accept } })
}
