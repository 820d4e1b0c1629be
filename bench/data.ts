/**
 * The rows every contender serves, computed from their id, so that a content check knows what a row
 * must hold. Also the key the generator sends, made the way §3.2 says. Pure.
 */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

export interface User {
  readonly id: number
  readonly name: string
  readonly email: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

const FIRST = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Alan', 'Frances', 'Donald', 'Radia', 'Tim']
const LAST = ['Lovelace', 'Hopper', 'Dijkstra', 'Liskov', 'Turing', 'Allen', 'Knuth', 'Perlman']
const EPOCH_MS = Date.UTC(2024, 0, 1)
const MINUTE_MS = 60_000

/** `tied`: all rows bear one creation time, so that only the id tells them apart. */
export function userOf(id: number, tied: boolean): User {
  const first = FIRST[id % FIRST.length]!
  const last = LAST[Math.floor(id / FIRST.length) % LAST.length]!
  return {
    id,
    name: `${first} ${last}`,
    email: `${first.toLowerCase()}.${last.toLowerCase()}.${id}@example.com`,
    createdAt: tied ? EPOCH_MS : EPOCH_MS + id * MINUTE_MS,
  }
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function withChecksum(text: string): string {
  let rest = crc32(text)
  let sum = ''
  for (; rest > 0; rest = Math.floor(rest / 62)) sum = BASE62[rest % 62] + sum
  return text + sum.padStart(6, '0')
}

/** The one key of every contender. It opens nothing but a bench's own throw-away database. */
export const BENCH_KEY = withChecksum(`gk_live_${'bench'.repeat(7).slice(0, 32)}`)

export const BENCH_KEY_HASH = createHash('sha256').update(BENCH_KEY).digest()
