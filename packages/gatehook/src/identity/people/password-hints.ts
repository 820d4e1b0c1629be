/**
 * Stores 16 bits of each password that this process verified or stored, so that the hash queue can
 * prefer a password that is probably correct. A hint never replaces the hash. Hints exist in memory
 * only, under a key of this process: no stored data makes a guess cheaper.
 */

import { createHmac } from 'node:crypto'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Random } from '../../kernel/random.ts'

/** Accounts; about 10 MB. */
const HINTS_MAX = 50_000
const KEY_BYTES = 32

interface PasswordHints {
  learn(account: string, password: string): void
  /** Returns true for the last password learned, and for 1 of 65,536 others. */
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
