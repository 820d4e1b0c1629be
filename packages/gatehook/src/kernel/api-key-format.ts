/** The format of API keys (§3.2): prefix with the mode, 32 random characters, checksum. Pure. */
import { crc32 } from 'node:zlib'
import { encodeBase62, randomBase62 } from './base62.ts'
import type { Mode } from './principal.ts'
import type { Random } from './random.ts'

const RANDOM_LENGTH = 32
/** Six digits hold every CRC-32: 62⁶ > 2³². */
const CHECKSUM_LENGTH = 6
const PREFIX = /^gk_(live|test)_/
const SHAPE = /^gk_(live|test)_[0-9A-Za-z]{38}$/

const checksum = (text: string): string => encodeBase62(crc32(text), CHECKSUM_LENGTH)

/** Generates a key: `gk_live_` or `gk_test_`, 32 random characters (190 bits), 6 of checksum. */
export function generateApiKey(random: Random, mode: Mode): string {
  const body = `gk_${mode}_${randomBase62(random, RANDOM_LENGTH)}`
  return body + checksum(body)
}

/**
 * Returns whether a text has the prefix of a key without its form or checksum. A key that a team
 * has issued itself has any other form (§17.3).
 */
export const isMistyped = (text: string): boolean =>
  PREFIX.test(text) && parseApiKey(text) === undefined

/** Returns the mode in a well-formed key; undefined if its shape or checksum is wrong. */
export function parseApiKey(text: string): { mode: Mode } | undefined {
  const match = SHAPE.exec(text)
  if (!match) return undefined
  const body = text.slice(0, -CHECKSUM_LENGTH)
  if (checksum(body) !== text.slice(-CHECKSUM_LENGTH)) return undefined
  return { mode: match[1] as Mode }
}
