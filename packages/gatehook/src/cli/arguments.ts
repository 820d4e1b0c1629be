/**
 * Command-line arguments as values: lists of words, spans and instants, scopes. Throws `UsageError`
 * for text that is not valid. Pure.
 */
import { isInstantMs, isoTime } from '../kernel/time.ts'
import type { CommandOption, Input } from './command.ts'
import { UsageError } from './errors.ts'

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
const SPAN = /^(?:\d{1,9}[smhdw])+$/

/** Parses `30d`, `1h30m`, `90s` to seconds; undefined if the text is not a span. */
export function parseDuration(text: string): number | undefined {
  if (!SPAN.test(text)) return undefined
  let seconds = 0
  for (const [, count, unit] of text.matchAll(/(\d+)([smhdw])/g)) {
    seconds += Number(count) * SECONDS[unit!]!
  }
  return Number.isSafeInteger(seconds) ? seconds : undefined
}

/** Splits at commas and spaces; a repeated option adds to the list. */
export const words = (value: unknown): string[] =>
  [value ?? []].flat().flatMap((text) =>
    String(text)
      .split(/[,\s]+/)
      .filter(Boolean),
  )

const DEFAULT_COUNT = 50
const MAX_COUNT = 10_000

export const countOption = ['--count <N>', `how many (default ${DEFAULT_COUNT})`] as const

/** Reads `--count`: 1 to 10,000. */
export function countOf({ options: { count } }: Input): number {
  if (count === undefined) return DEFAULT_COUNT
  const value = /^\d{1,5}$/.test(String(count)) ? Number(count) : 0
  if (value >= 1 && value <= MAX_COUNT) return value
  throw new UsageError(`--count is "${count}"; expected 1 to ${MAX_COUNT}.`)
}

/** Returns a date or instant unchanged, and a span as the instant that long after `now()`. */
export async function instantOf(
  text: unknown,
  now: () => Promise<number>,
): Promise<string | undefined> {
  if (text === undefined) return undefined
  const spanS = parseDuration(String(text))
  if (spanS === undefined) return String(text)
  const instantMs = (await now()) + spanS * 1000
  if (isInstantMs(instantMs)) return isoTime(instantMs)
  throw new UsageError(`The span ${text} ends after the year 9999.`)
}

/** A hash covers the place of its row, so that the place before it is for its reader only. */
const HASH = /^(?:\d{1,15}:)?([0-9a-f]{64})$/

/** Reads the `--expect` of commands on the audit chain: `HASH`, or `SEQ:HASH`. */
export function expectedHashOf(text: unknown): string | undefined {
  if (text === undefined) return undefined
  const [, hash] = HASH.exec(String(text)) ?? []
  if (hash !== undefined) return hash
  throw new UsageError(`--expect is "${text}"; expected the 64 hex digits of a row's hash.`)
}

export const filterOptions: readonly CommandOption[] = [
  ['--customer <CUSTOMER>', 'only of this customer, by id or name'],
  ['--mode <MODE>', 'only live or test'],
]

/** Returns the query of a list that `--customer` and `--mode` filter. */
export function filterOf({ options: { customer, mode } }: Input): string {
  const filters = Object.entries({ customer, mode }).filter(([, value]) => value !== undefined)
  return new URLSearchParams(filters as [string, string][]).toString()
}
