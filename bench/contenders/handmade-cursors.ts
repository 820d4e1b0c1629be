/** Cursors of the hand-made list: the anchor row's keys, plain or signed. */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'

/** The row a page starts after; `back`: the page ends before it. */
export interface Anchor {
  readonly back: boolean
  readonly id: number
  readonly createdAt: number
}

export interface Cursors {
  seal(sort: string, anchor: Anchor): string
  /** Null: not a cursor of this list and sort. */
  open(cursor: string, sort: string): Anchor | null
}

const FORM = /^([<>])(\d{1,15}):(\d{1,15}):([a-z_-]{2,11})$/

const write = (sort: string, { back, id, createdAt }: Anchor) =>
  `${back ? '<' : '>'}${id}:${createdAt}:${sort}`

function read(text: string, sort: string): Anchor | null {
  const match = FORM.exec(text)
  if (!match || match[4] !== sort) return null
  return { back: match[1] === '<', id: Number(match[2]), createdAt: Number(match[3]) }
}

export const plainCursors = (): Cursors => ({
  seal: (sort, anchor) => Buffer.from(write(sort, anchor), 'latin1').toString('base64url'),
  open: (cursor, sort) => read(Buffer.from(cursor, 'base64url').toString('latin1'), sort),
})

const TAG_BYTES = 16

/** HMAC-SHA-256, cut to 128 bits, before the text. */
export function signedCursors(): Cursors {
  const key = createSecretKey(randomBytes(32))
  const tagOf = (text: string) =>
    createHmac('sha256', key).update(text, 'latin1').digest().subarray(0, TAG_BYTES)
  return {
    seal(sort, anchor) {
      const text = write(sort, anchor)
      const bytes = Buffer.allocUnsafe(TAG_BYTES + text.length)
      tagOf(text).copy(bytes)
      bytes.write(text, TAG_BYTES, 'latin1')
      return bytes.toString('base64url')
    },
    open(cursor, sort) {
      const bytes = Buffer.from(cursor, 'base64url')
      if (bytes.length <= TAG_BYTES) return null
      const text = bytes.toString('latin1', TAG_BYTES)
      if (!timingSafeEqual(tagOf(text), bytes.subarray(0, TAG_BYTES))) return null
      return read(text, sort)
    },
  }
}
