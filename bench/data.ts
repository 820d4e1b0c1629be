/**
 * The rows that every contender serves, computed from their ids, so that content checks can compare
 * them. Also the API key of all requests (§3.2). Pure.
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

/** Returns a user; with `tied`, all have the same creation time. */
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

/** The API key of every contender, valid in temporary databases of the bench only. */
export const BENCH_KEY = withChecksum(`gk_live_${'bench'.repeat(7).slice(0, 32)}`)

export const BENCH_KEY_HASH = createHash('sha256').update(BENCH_KEY).digest()
