/**
 * How an API key is written (decisions §3.2): prefix with the mode, 32 random characters, checksum.
 * Pure; whether a key is known, alive and whose it is, is `access/`.
 */
import { crc32 } from 'node:zlib'
import type { Mode } from './principal.ts'
import { base62, type Random } from './random.ts'

const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SHAPE = /^gk_(live|test)_[0-9A-Za-z]{38}$/

/** CRC-32 of `text` in base62, left-padded with `0`: 62⁶ > 2³², six always suffice. */
function checksum(text: string): string {
  let rest = crc32(text)
  let out = ''
  while (out.length < CHECKSUM_LENGTH) {
    out = BASE62[rest % 62] + out
    rest = Math.floor(rest / 62)
  }
  return out
}

/** A new key: `gk_live_` or `gk_test_`, 32 random characters (190 bits), 6 of checksum. */
export function formatKey(random: Random, mode: Mode): string {
  const body = `gk_${mode}_${base62(random, RANDOM_LENGTH)}`
  return body + checksum(body)
}

/** The mode a well-formed key says it is of; undefined when the shape or the checksum is wrong. */
export function parseKey(text: string): { mode: Mode } | undefined {
  const match = SHAPE.exec(text)
  if (!match) return undefined
  const body = text.slice(0, -CHECKSUM_LENGTH)
  if (checksum(body) !== text.slice(-CHECKSUM_LENGTH)) return undefined
  return { mode: match[1] as Mode }
}
