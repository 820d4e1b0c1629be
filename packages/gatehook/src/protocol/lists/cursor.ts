/**
 * Cursors: opaque, signed, bound to one list (§7.5). A cursor contains the sort keys of the row at
 * the edge of a page, and a direction. Pure.
 *
 * Form: 22 characters of the base64url of an HMAC-SHA256 tag, then the signed text, which is the
 * base64url of the JSON `[step, binding, key, …]`. The signature covers the encoded text, so only
 * its canonical form is valid, and each position has one cursor.
 */
import { createHmac, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import { Failure } from '../../kernel/failure.ts'
import type { MacKeys } from '../../kernel/secret.ts'
import { parameterFailure } from '../http/query.ts'

export type Key = string | number | null

/**
 * `after` and `before` exclude the row itself. `from` and `upto` include it: they lead back from an
 * empty page to its neighbour, which contains the row (§7.6).
 */
export type CursorStep = 'after' | 'before' | 'from' | 'upto'

export interface Cursor {
  readonly step: CursorStep
  readonly keys: readonly Key[]
}

/** 132 bits. */
const TAG_CHARACTERS = 22
/**
 * Fits into a URL of 8 KiB. The longest value of one sort column fits; several such values do not.
 */
const CURSOR_MAX_CHARACTERS = 6000
/** 96 bits: finding two lists with the same binding is infeasible. */
const BINDING_CHARACTERS = 16

/** Returns the binding of a cursor: a hash of scope, collection, sort and filters. */
export const bindingOf = (...parts: readonly unknown[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url').slice(0, BINDING_CHARACTERS)

/** Returns the binding of the cursors of a list, from the parts of its request that select rows. */
export function bindingOfList(
  { scope, owner = null }: { readonly scope: number; readonly owner?: number | null | undefined },
  collection: string,
  request: {
    readonly sort: readonly unknown[]
    readonly filters: readonly unknown[]
    readonly terms: readonly unknown[]
  },
): string {
  const { sort, filters, terms } = request
  const texts = filters.map((filter) => JSON.stringify(filter)).sort()
  if (terms.length > 0) texts.push(JSON.stringify(terms))
  return bindingOf(scope, owner, collection, sort, texts)
}

/**
 * Encodes and signs a cursor. Throws `invalid_parameter` for `sort` when the keys are too long for
 * a URL.
 */
export function encodeCursor(key: KeyObject, binding: string, cursor: Cursor): string {
  const payload = JSON.stringify([cursor.step, binding, ...cursor.keys])
  const signed = Buffer.from(payload).toString('base64url')
  const text = tagOf(key, signed) + signed
  if (text.length <= CURSOR_MAX_CHARACTERS) return text
  throw parameterFailure(
    'invalid_parameter',
    'sort',
    'names columns whose values are too long together; sort by fewer, or use the page style',
  )
}

/**
 * Verifies and decodes a cursor. Throws `invalid_cursor` for an invalid signature, and
 * `cursor_mismatch` for a cursor of another list.
 */
export function decodeCursor(macKeys: MacKeys, binding: string, text: string): Cursor {
  if (!ANY_CURSOR.test(text)) throw cursorFailure('invalid_cursor')
  const signed = text.slice(TAG_CHARACTERS)
  const isSigner = (key: KeyObject) => hasTag(text, tagOf(key, signed))
  if (!macKeys.accepted.some(isSigner)) throw cursorFailure('invalid_cursor')
  const payload = Buffer.from(signed, 'base64url').toString()
  const [step, cursorBinding, ...keys] = JSON.parse(payload) as [CursorStep, string, ...Key[]]
  if (cursorBinding !== binding) throw cursorFailure('cursor_mismatch')
  return { step, keys }
}

const ANY_CURSOR = new RegExp(`^[\\w-]{${TAG_CHARACTERS + 1},${CURSOR_MAX_CHARACTERS}}$`)

const tagOf = (key: KeyObject, signed: string): string =>
  createHmac('sha256', key).update(signed, 'latin1').digest('base64url').slice(0, TAG_CHARACTERS)

/** Reused, because two buffers per request take longer than their comparison. */
const [sentTag, validTag] = [Buffer.alloc(TAG_CHARACTERS), Buffer.alloc(TAG_CHARACTERS)]

/** Returns whether a cursor begins with `tag`, in constant time. */
function hasTag(text: string, tag: string): boolean {
  sentTag.write(text, 0, TAG_CHARACTERS, 'latin1')
  validTag.write(tag, 0, TAG_CHARACTERS, 'latin1')
  return timingSafeEqual(sentTag, validTag)
}

function cursorFailure(code: 'invalid_cursor' | 'cursor_mismatch'): Failure {
  const failure = new Failure(code)
  return new Failure(code, undefined, {
    errors: [{ parameter: 'cursor', code, message: failure.message }],
  })
}
