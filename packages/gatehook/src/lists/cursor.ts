/**
 * Cursors: opaque, signed, bound to one list (§7.5). A cursor holds the sort keys of the row at the
 * edge of a page and which way to go from it. Pure.
 *
 * Form: 22 characters of the base64url of HMAC-SHA256 over the rest, which is the base64url of the
 * JSON `[step, binding, key, …]`. The text itself is signed, not what it decodes to: so only the
 * canonical form is taken, and one position has one cursor.
 */
import { createHmac, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import { parameterFailure } from '../http/query.ts'
import { Failure } from '../kernel/failure.ts'
import type { MacKeys } from '../kernel/secret.ts'

export type Key = string | number | null

/**
 * `after`/`before` leave the row itself out. `from`/`upto` take it in: they lead back from a page
 * found empty, whose neighbour still holds the row (§7.6).
 */
export type CursorStep = 'after' | 'before' | 'from' | 'upto'

export interface Cursor {
  readonly step: CursorStep
  readonly keys: readonly Key[]
}

/** 132 bits. */
const TAG_CHARACTERS = 22
/**
 * Leaves room in a URL of 8 KiB. The longest text a column may sort by fits, several such do not.
 */
const CURSOR_MAX_CHARACTERS = 6000
/** 96 bits: two lists with one binding cannot be searched for, so keys always fit their columns. */
const BINDING_CHARACTERS = 16

/** What a cursor is bound to: scope, collection, sort and filters. */
export const bindingOf = (...parts: readonly unknown[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url').slice(0, BINDING_CHARACTERS)

/**
 * Throws `invalid_parameter`, naming the sort, where the keys are too long to come back in a URL.
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

/** Throws `invalid_cursor` when it is not ours, `cursor_mismatch` when it is another list's. */
export function decodeCursor(macKeys: MacKeys, binding: string, text: string): Cursor {
  if (!ANY_CURSOR.test(text)) throw cursorFailure('invalid_cursor')
  const signed = text.slice(TAG_CHARACTERS)
  const tag = Buffer.from(text.slice(0, TAG_CHARACTERS), 'latin1')
  const isSigner = (key: KeyObject) =>
    timingSafeEqual(tag, Buffer.from(tagOf(key, signed), 'latin1'))
  if (!macKeys.accepted.some(isSigner)) throw cursorFailure('invalid_cursor')
  const payload = Buffer.from(signed, 'base64url').toString()
  const [step, boundTo, ...keys] = JSON.parse(payload) as [CursorStep, string, ...Key[]]
  if (boundTo !== binding) throw cursorFailure('cursor_mismatch')
  return { step, keys }
}

const ANY_CURSOR = new RegExp(`^[\\w-]{${TAG_CHARACTERS + 1},${CURSOR_MAX_CHARACTERS}}$`)

const tagOf = (key: KeyObject, signed: string): string =>
  createHmac('sha256', key).update(signed, 'latin1').digest('base64url').slice(0, TAG_CHARACTERS)

function cursorFailure(code: 'invalid_cursor' | 'cursor_mismatch'): Failure {
  const failure = new Failure(code)
  return new Failure(code, undefined, {
    errors: [{ parameter: 'cursor', code, message: failure.message }],
  })
}
