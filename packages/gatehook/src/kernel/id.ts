/** Ids that sort by creation time: a prefix, 8 characters of time, 14 random characters. Pure. */
import { decodeBase62, encodeBase62, randomBase62 } from './base62.ts'
import type { Random } from './random.ts'

const TIME_CHARACTERS = 8 // 62^8 ms is the year 8888
const RANDOM_CHARACTERS = 14
/** The characters of an id after its prefix. */
export const TIME_ORDERED_CHARACTERS = TIME_CHARACTERS + RANDOM_CHARACTERS
const COUNTER_CHARACTERS = 3
const COUNT_MAX = 62 ** COUNTER_CHARACTERS - 1

/** Generates an id, for example `evt_0VhKq3Zr…`, whose text order is time order. */
export function createTimeOrderedId(prefix: string, nowMs: number, random: Random): string {
  return prefix + timePart(nowMs) + randomBase62(random, RANDOM_CHARACTERS)
}

/** Returns a text that sorts after all ids created before `nowMs` and before all later ids. */
export const lowestIdAt = (prefix: string, nowMs: number): string => prefix + timePart(nowMs)

/** Returns the time of an id in epoch milliseconds; undefined for a text without one. */
export function timeOfId(id: string): number | undefined {
  const start = id.indexOf('_') + 1
  return decodeBase62(id.slice(start, start + TIME_CHARACTERS).padEnd(TIME_CHARACTERS, '_'))
}

/** Returns a generator whose ids of one millisecond also sort in the order of their creation. */
export function createIdSequence(prefix: string, random: Random): (nowMs: number) => string {
  let lastMs = 0
  let count = 0
  return (nowMs) => {
    count = nowMs === lastMs ? count + 1 : 0
    lastMs = nowMs
    if (count > COUNT_MAX) {
      count = 0
      lastMs += 1
    }
    const counter = encodeBase62(count, COUNTER_CHARACTERS)
    const rest = randomBase62(random, RANDOM_CHARACTERS - COUNTER_CHARACTERS)
    return prefix + timePart(lastMs) + counter + rest
  }
}

const SHORT_RANDOM_CHARACTERS = 8
/** The time of the last short id: thousands of ids are generated in one millisecond. */
let lastShort = { ms: -1, text: '' }

/**
 * Generates a shorter id that sorts by creation time, so that an index on such ids grows at its end
 * only. Not for objects: 48 random bits are unique enough for one millisecond.
 */
export function createShortId(prefix: string, nowMs: number, random: Random): string {
  if (lastShort.ms !== nowMs) lastShort = { ms: nowMs, text: timePart(nowMs) }
  return prefix + lastShort.text + randomBase62(random, SHORT_RANDOM_CHARACTERS)
}

const timePart = (ms: number): string => encodeBase62(ms, TIME_CHARACTERS)
