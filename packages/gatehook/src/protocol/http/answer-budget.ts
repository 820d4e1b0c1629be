/**
 * The bytes of one response while it is built (§11.5): lists, expanded rows and reports of dry runs
 * stop at the bound, before they read more. Exports are streams and have none.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Answer } from './call.ts'

/** Largest size of a response. */
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** Part of it that is left for the envelope, the links and the warnings. */
export const ENVELOPE_BYTES = 65_536
/** Largest size of the items of a response. */
export const ITEMS_BYTES_MAX = ANSWER_BYTES_MAX - ENVELOPE_BYTES

const SHORT_LENGTH = 4096

/** Returns the bytes of an item with its comma; an upper bound if the item is short. */
export const sizeOf = (item: string): number =>
  item.length <= SHORT_LENGTH ? 3 * item.length + 1 : Buffer.byteLength(item) + 1

export class AnswerBudget {
  #left = ITEMS_BYTES_MAX

  get left(): number {
    return this.#left
  }

  /** Returns whether the text still fits, and counts it then. */
  take(text: string): boolean {
    const bytes = sizeOf(text)
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }
}

/** Throws `change_too_large` for the response of a change beyond the bound; nothing is stored. */
export function requireAnswerFits({ json, raw }: Answer): void {
  const body = json ?? raw
  if (body === undefined || body.length * 3 <= ANSWER_BYTES_MAX) return
  if (Buffer.byteLength(body) <= ANSWER_BYTES_MAX) return
  throw new Failure(
    'change_too_large',
    'The response of the change would be larger than 8 MiB. Split it into several requests.',
  )
}
