/** Conditional requests (§11.2, RFC 9110 §13): entity tags, 304 and 412. Pure. */
import { hash } from 'node:crypto'
import { Failure } from '../kernel/failure.ts'
import type { After, Call } from './call.ts'

/** A strong entity tag. SHA-1 is enough: it tells versions apart, it guards nothing. */
export const entityTag = (text: string): string => `"${hash('sha1', text, 'base64url')}"`

/**
 * Whether a list of entity tags names this one. `weakly`: `W/"x"` stands for `"x"` (RFC 9110
 * §8.8.3.2).
 */
function names(list: string, tag: string, weakly: boolean): boolean {
  if (list.trim() === '*') return true
  let open = list.indexOf('"')
  while (open >= 0) {
    const close = list.indexOf('"', open + 1)
    if (close < 0) return false
    const isWeak = list.startsWith('W/', open - 2)
    if ((weakly || !isWeak) && list.slice(open, close + 1) === tag) return true
    open = list.indexOf('"', close + 1)
  }
  return false
}

/** `ETag` on what a GET answers; 412 where another is asked for, 304 where the caller has it. */
export const conditional: After = (call, answer) => {
  const { json } = answer
  if (answer.status !== 200 || json === undefined) return
  if (call.method !== 'GET' && call.method !== 'HEAD') return
  const tag = answer.headers?.etag ?? entityTag(json)
  call.out.etag = tag
  const wanted = call.headers['if-match']
  if (wanted !== undefined && !names(wanted, tag, false)) {
    throw new Failure('precondition_failed')
  }
  const known = call.headers['if-none-match']
  if (known === undefined || !names(known, tag, true)) return
  answer.status = 304
  answer.json = undefined
}

/**
 * 412 when the caller's `If-Match` names another state than the row's. `text`: the row as the
 * caller sees it.
 */
export function requireMatch(call: Call, text: () => string): void {
  const wanted = call.headers['if-match']
  if (wanted === undefined || names(wanted, entityTag(text()), false)) return
  throw new Failure('precondition_failed')
}
