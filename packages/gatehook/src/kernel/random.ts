/** Chance as an argument. The only file that touches the machine's entropy. */
import { randomFillSync } from 'node:crypto'

export interface Random {
  /** `length` random bytes; a fresh buffer the caller owns. */
  bytes(length: number): Buffer
}

const POOL_BYTES = 4096

/** The machine's entropy, drawn a pool at a time: one system call per 256 request ids. */
export function systemRandom(): Random {
  const pool = Buffer.allocUnsafeSlow(POOL_BYTES)
  let used = POOL_BYTES
  return {
    bytes(length) {
      if (length > POOL_BYTES) return randomFillSync(Buffer.allocUnsafeSlow(length))
      if (used + length > POOL_BYTES) {
        randomFillSync(pool)
        used = 0
      }
      const out = Buffer.from(pool.subarray(used, used + length))
      pool.fill(0, used, used + length) // a key just handed out does not stay behind in the pool
      used += length
      return out
    },
  }
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `length` characters of `0-9A-Za-z`, each equally likely. */
export function base62(random: Random, length: number): string {
  let out = ''
  while (out.length < length) {
    for (const byte of random.bytes(length - out.length + 8)) {
      // 248 is the largest multiple of 62 in a byte; the rest is thrown away, or low letters win.
      if (byte < 248 && out.length < length) out += BASE62[byte % 62]
    }
  }
  return out
}
