/** Conditional requests (§11.2, RFC 9110 §13): entity tags, 304 and 412. Pure. */
import { hash } from 'node:crypto'
import { Failure } from '../../kernel/failure.ts'
import type { After, Call, Step } from './call.ts'

/**
 * Returns a strong entity tag. It distinguishes versions and protects nothing, so SHA-1 is enough.
 */
export const entityTag = (text: string): string => `"${hash('sha1', text, 'base64url')}"`

/**
 * Returns whether a list of entity tags contains `tag`.
 *
 * @param isWeak Compare weakly: `W/"x"` matches `"x"`.
 * @see RFC 9110 §8.8.3.2
 */
function includesTag(list: string, tag: string, isWeak: boolean): boolean {
  if (list.trim() === '*') return true
  let open = list.indexOf('"')
  while (open >= 0) {
    const close = list.indexOf('"', open + 1)
    if (close < 0) return false
    const isWeakTag = list.startsWith('W/', open - 2)
    if ((isWeak || !isWeakTag) && list.slice(open, close + 1) === tag) return true
    open = list.indexOf('"', close + 1)
  }
  return false
}

/** Returns whether `If-None-Match` contains the tag: the response is then 304. */
export function matchesNoneMatch(call: Call, tag: string): boolean {
  const ifNoneMatch = call.headers['if-none-match']
  return ifNoneMatch !== undefined && includesTag(ifNoneMatch, tag, true)
}

/**
 * Adds `ETag` to the response of a GET; 412 if `If-Match` differs, 304 if `If-None-Match` matches.
 */
export const addEntityTag: After = (call, answer) => {
  const { json } = answer
  if (answer.status !== 200 || json === undefined) return
  if (call.method !== 'GET' && call.method !== 'HEAD') return
  const tag = answer.headers?.etag ?? entityTag(json)
  call.out.etag = tag
  const ifMatch = call.headers['if-match']
  if (ifMatch !== undefined && !includesTag(ifMatch, tag, false)) {
    throw new Failure('precondition_failed')
  }
  if (!matchesNoneMatch(call, tag)) return
  answer.status = 304
  answer.json = undefined
}

/**
 * Checks `If-Match` against the stored row before a change.
 *
 * @param text The row as this caller reads it.
 * @throws `precondition_failed` (412) if the row has changed.
 */
export function requireMatch(call: Call, text: () => string): void {
  const ifMatch = call.headers['if-match']
  if (ifMatch === undefined || includesTag(ifMatch, entityTag(text()), false)) return
  throw new Failure('precondition_failed')
}

/**
 * Rejects `If-None-Match` of a method that changes something with 412, before the work (§11.2): its
 * value, `*` included, names what the caller wants to be absent, and the path exists.
 */
export const rejectNoneMatch: Step = ({ method, headers, operation }) => {
  if (!operation || method === 'GET' || method === 'HEAD') return
  if (headers['if-none-match'] === undefined) return
  throw new Failure('precondition_failed', 'If-None-Match is for GET and HEAD; use If-Match.')
}
