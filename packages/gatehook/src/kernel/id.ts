/** Ids that sort by creation time: a prefix, 8 characters of time, 14 random characters. Pure. */
import { encodeBase62, randomBase62 } from './base62.ts'
import type { Random } from './random.ts'

const TIME_CHARACTERS = 8 // 62^8 ms is the year 8888
const RANDOM_CHARACTERS = 14
const COUNTER_CHARACTERS = 3

/** Generates an id, for example `evt_0VhKq3Zr…`, whose text order is time order. */
export function createTimeOrderedId(prefix: string, nowMs: number, random: Random): string {
  return prefix + timePart(nowMs) + randomBase62(random, RANDOM_CHARACTERS)
}

/** Returns a text that sorts after all ids created before `nowMs` and before all later ids. */
export const lowestIdAt = (prefix: string, nowMs: number): string => prefix + timePart(nowMs)

/** Returns a generator whose ids of one millisecond also sort in the order of their creation. */
export function createIdSequence(prefix: string, random: Random): (nowMs: number) => string {
  let lastMs = 0
  let count = 0
  return (nowMs) => {
    count = nowMs === lastMs ? count + 1 : 0
    lastMs = nowMs
    const counter = encodeBase62(count, COUNTER_CHARACTERS)
    const rest = randomBase62(random, RANDOM_CHARACTERS - COUNTER_CHARACTERS)
    return prefix + timePart(nowMs) + counter + rest
  }
}

const timePart = (ms: number): string => encodeBase62(ms, TIME_CHARACTERS)
