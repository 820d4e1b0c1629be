/** Ids that sort by the time they were made: `evt_0VhKq3Zr` + 14 random characters. Pure. */
import { base62, type Random } from './random.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TIME_CHARACTERS = 8 // 62^8 ms is the year 8888
const RANDOM_CHARACTERS = 14
const COUNTER_CHARACTERS = 3

/** The digits stand in byte order, so that text order is time order on both databases. */
export function timeOrderedId(prefix: string, nowMs: number, random: Random): string {
  return prefix + timePart(nowMs) + base62(random, RANDOM_CHARACTERS)
}

/** Not above any id made at `nowMs` or later, above all made before. */
export const idFloor = (prefix: string, nowMs: number): string => prefix + timePart(nowMs)

/** Makes ids that also keep the order in which this process made them within one millisecond. */
export function idSequence(prefix: string, random: Random): (nowMs: number) => string {
  let lastMs = 0
  let count = 0
  return (nowMs) => {
    count = nowMs === lastMs ? count + 1 : 0
    lastMs = nowMs
    const counter = digits(count, COUNTER_CHARACTERS)
    return prefix + timePart(nowMs) + counter + base62(random, RANDOM_CHARACTERS - counter.length)
  }
}

const timePart = (ms: number): string => digits(ms, TIME_CHARACTERS)

function digits(number: number, length: number): string {
  let rest = number
  let out = ''
  for (let n = 0; n < length; n++) {
    out = DIGITS[rest % 62] + out
    rest = Math.floor(rest / 62)
  }
  return out
}
