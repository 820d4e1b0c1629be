/**
 * Cursors: opaque, signed, bound to one list (§7.5). A cursor holds the sort keys of the row at the
 * edge of a page and which way to go from it. Pure.
 *
 * Form: base64url(first 16 bytes of HMAC-SHA256 over payload ‖ payload), payload = JSON
 * `[step, binding, key, …]`. Only the canonical form is taken, so one position has one cursor.
 */
import { createHmac, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import { parameterFailure } from '../http/query.ts'
import { Failure } from '../kernel/failure.ts'

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

const MAC_BYTES = 16
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
  const payload = Buffer.from(JSON.stringify([cursor.step, binding, ...cursor.keys]))
  const text = Buffer.concat([mac(key, payload), payload]).toString('base64url')
  if (text.length <= CURSOR_MAX_CHARACTERS) return text
  throw parameterFailure(
    'invalid_parameter',
    'sort',
    'names columns whose values are too long together; sort by fewer, or use the page style',
  )
}

/** Throws `invalid_cursor` when it is not ours, `cursor_mismatch` when it is another list's. */
export function decodeCursor(key: KeyObject, binding: string, text: string): Cursor {
  const bytes = text.length <= CURSOR_MAX_CHARACTERS ? Buffer.from(text, 'base64url') : empty
  const payload = bytes.subarray(MAC_BYTES)
  const genuine =
    payload.length > 0 &&
    bytes.toString('base64url') === text &&
    timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(key, payload))
  if (!genuine) throw cursorFailure('invalid_cursor')
  const [step, boundTo, ...keys] = JSON.parse(payload.toString()) as [CursorStep, string, ...Key[]]
  if (boundTo !== binding) throw cursorFailure('cursor_mismatch')
  return { step, keys }
}

const empty = Buffer.alloc(0)

const mac = (key: KeyObject, payload: Uint8Array): Buffer =>
  createHmac('sha256', key).update(payload).digest().subarray(0, MAC_BYTES)

function cursorFailure(code: 'invalid_cursor' | 'cursor_mismatch'): Failure {
  const failure = new Failure(code)
  return new Failure(code, undefined, {
    errors: [{ parameter: 'cursor', code, message: failure.message }],
  })
}
