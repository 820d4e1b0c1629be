/**
 * Remembers 16 bits of each password that this process verified or stored, so that the hash queue
 * can prefer a password that is probably correct. A hint never replaces the hash. It lives in
 * memory only, under a key of this process: nothing at rest makes a guess cheaper.
 */

import { createHmac } from 'node:crypto'
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Random } from '../kernel/random.ts'

/** Accounts; the least recently used one leaves. About 10 MB. */
const HINTS_MAX = 50_000
const KEY_BYTES = 32

export interface PasswordHints {
  learn(account: string, password: string): void
  /** True for the password that was learned last; for another one in 1 of 65,536 cases. */
  isLikely(account: string, password: string): boolean
}

export function createPasswordHints(random: Random, max: number = HINTS_MAX): PasswordHints {
  const key = random.bytes(KEY_BYTES)
  const hints = new BoundedMap<string, number>(max)
  const hintOf = (account: string, password: string): number =>
    createHmac('sha256', key)
      .update(JSON.stringify([account, password]))
      .digest()
      .readUInt16BE()
  return {
    learn: (account, password) => void hints.set(account, hintOf(account, password)),
    isLikely: (account, password) => hintOf(account, password) === hints.get(account),
  }
}
