/**
 * What people type after a command, as values: lists of words, spans and instants, scopes, whose
 * rows are meant. What makes no sense is a `UsageError`. Pure.
 */
import { type Administration, customerId } from '../access/administration.ts'
import { closest } from '../config/closest.ts'
import { isoTime } from '../kernel/time.ts'
import type { CommandSpec, Input } from './command.ts'
import { parseDuration } from './duration.ts'
import { UsageError } from './mistake.ts'

/** `a,b c` and repetitions of the option alike. */
export const words = (value: unknown): string[] =>
  [value ?? []].flat().flatMap((text) =>
    String(text)
      .split(/[,\s]+/)
      .filter(Boolean),
  )

/** Seconds that an old secret stays good; undefined where that was not said. */
export function overlapOf({ options: { overlap } }: Input): number | undefined {
  if (overlap === undefined) return undefined
  const spanS = parseDuration(String(overlap))
  if (spanS !== undefined) return spanS
  throw new UsageError(`--overlap is "${overlap}"; expected a span such as 24h, 30m or 0s.`)
}

export const overlapOption = [
  '--overlap <SPAN>',
  'how long the old one stays good (default 24h)',
] as const

/** An instant or day as it is, a span counted from now. */
export function instantOf(
  text: unknown,
  { clock }: Pick<Administration, 'clock'>,
): string | undefined {
  if (text === undefined) return undefined
  const spanS = parseDuration(String(text))
  return spanS === undefined ? String(text) : isoTime(clock.now() + spanS * 1000)
}

/** Whether a row is of the customer and mode that were named. */
export function isMeant({ options: { customer, mode } }: Input) {
  const id = customer && customerId(String(customer))
  return (row: { readonly customer: string; readonly mode: string }): boolean =>
    (!id || row.customer === id) && (!mode || row.mode === mode)
}

export const meantOptions: NonNullable<CommandSpec['options']> = [
  ['--customer <ID>', 'only of this customer'],
  ['--mode <MODE>', 'only live or test'],
]

/** Throws a `UsageError` for no scope at all, and for one that is not `known`. */
export function checkScopes(
  scopes: readonly string[],
  known: ReadonlySet<string>,
  what: string,
  option: string,
): void {
  const unknown = scopes.find((scope) => !known.has(scope))
  if (scopes.length > 0 && unknown === undefined) return
  const all = [...known].sort()
  const list = all.join(' ')
  const meant = unknown === undefined ? undefined : closest(unknown, all)
  throw new UsageError(
    unknown === undefined
      ? `Say what the ${what} may do: ${option}, of ${list}`
      : `There is no scope "${unknown}". ${meant ? `Did you mean ${meant}?` : `Known: ${list}`}`,
  )
}
