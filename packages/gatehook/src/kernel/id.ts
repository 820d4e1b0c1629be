/** Ids that sort by the time they were made: `evt_0VhKq3Zr` + 14 random characters. Pure. */
import { base62, type Random } from './random.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TIME_CHARACTERS = 8 // 62^8 ms is the year 8888
const RANDOM_CHARACTERS = 14

/** The digits stand in byte order, so that text order is time order on both databases. */
export function timeOrderedId(prefix: string, nowMs: number, random: Random): string {
  return prefix + timePart(nowMs) + base62(random, RANDOM_CHARACTERS)
}

/** The smallest id that could have been made at `ms`: where a walk by time begins. */
export const firstIdAt = (prefix: string, ms: number): string => prefix + timePart(ms)

function timePart(ms: number): string {
  let rest = ms
  let out = ''
  for (let n = 0; n < TIME_CHARACTERS; n++) {
    out = DIGITS[rest % 62] + out
    rest = Math.floor(rest / 62)
  }
  return out
}
