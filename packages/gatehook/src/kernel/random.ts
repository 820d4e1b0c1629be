/** Randomness as an argument. The only file that reads the system's entropy. */
import { randomFillSync } from 'node:crypto'

export interface Random {
  /** Returns `length` random bytes in a new buffer that the caller owns. */
  bytes(length: number): Buffer
}

const POOL_BYTES = 4096

/** Returns the system's entropy, read 4 KiB at a time: one system call per 256 request ids. */
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
      const bytes = Buffer.allocUnsafe(length)
      pool.copy(bytes, 0, used, used + length)
      pool.fill(0, used, used + length) // no copy of a secret stays in the pool
      used += length
      return bytes
    },
  }
}
