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

const FORM = /^([np])\.(\d{1,15})\.(\d{1,15})\.([a-z_-]{2,11})$/

/** Needs no encoding in a URL. */
const write = (sort: string, { back, id, createdAt }: Anchor) =>
  `${back ? 'p' : 'n'}.${id}.${createdAt}.${sort}`

function read(text: string, sort: string): Anchor | null {
  const match = FORM.exec(text)
  if (!match || match[4] !== sort) return null
  return { back: match[1] === 'p', id: Number(match[2]), createdAt: Number(match[3]) }
}

export const plainCursors = (): Cursors => ({ seal: write, open: read })

/** 132 of the 256 bits. */
const TAG_CHARACTERS = 22

/** HMAC-SHA-256 before the text. */
export function signedCursors(): Cursors {
  const key = createSecretKey(randomBytes(32))
  const tagOf = (text: string) =>
    createHmac('sha256', key).update(text, 'latin1').digest('base64url').slice(0, TAG_CHARACTERS)
  return {
    seal(sort, anchor) {
      const text = write(sort, anchor)
      return `${tagOf(text)}.${text}`
    },
    open(cursor, sort) {
      if (cursor[TAG_CHARACTERS] !== '.') return null
      const text = cursor.slice(TAG_CHARACTERS + 1)
      const tag = Buffer.from(cursor.slice(0, TAG_CHARACTERS), 'latin1')
      if (!timingSafeEqual(Buffer.from(tagOf(text), 'latin1'), tag)) return null
      return read(text, sort)
    },
  }
}
