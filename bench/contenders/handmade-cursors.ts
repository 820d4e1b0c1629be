/** Cursors of the handwritten list: the keys of the anchor row, plain or signed. */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'

/** The row before the page; with `back`, the row after it. */
export interface Anchor {
  readonly back: boolean
  readonly id: number
  readonly createdAt: number
}

export interface Cursors {
  encode(sort: string, anchor: Anchor): string
  /** Returns null for an invalid cursor or one of another sort. */
  decode(cursor: string, sort: string): Anchor | null
}

const FORMAT = /^([np])\.(\d{1,15})\.(\d{1,15})\.([a-z_-]{2,11})$/

/** Returns text that needs no encoding in a URL. */
const write = (sort: string, { back, id, createdAt }: Anchor) =>
  `${back ? 'p' : 'n'}.${id}.${createdAt}.${sort}`

function read(text: string, sort: string): Anchor | null {
  const match = FORMAT.exec(text)
  if (!match || match[4] !== sort) return null
  return { back: match[1] === 'p', id: Number(match[2]), createdAt: Number(match[3]) }
}

export const plainCursors = (): Cursors => ({ encode: write, decode: read })

/** 132 of 256 bits. */
const TAG_CHARACTERS = 22

/** Prefixes the text with an HMAC-SHA-256. */
export function signedCursors(): Cursors {
  const key = createSecretKey(randomBytes(32))
  const tagOf = (text: string) =>
    createHmac('sha256', key).update(text, 'latin1').digest('base64url').slice(0, TAG_CHARACTERS)
  return {
    encode(sort, anchor) {
      const text = write(sort, anchor)
      return `${tagOf(text)}.${text}`
    },
    decode(cursor, sort) {
      if (cursor[TAG_CHARACTERS] !== '.') return null
      const text = cursor.slice(TAG_CHARACTERS + 1)
      const tag = Buffer.from(cursor.slice(0, TAG_CHARACTERS), 'latin1')
      if (!timingSafeEqual(Buffer.from(tagOf(text), 'latin1'), tag)) return null
      return read(text, sort)
    },
  }
}
