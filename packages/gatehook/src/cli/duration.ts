/** Spans of time as people type them: `30d`, `1h30m`, `90s`. Pure. */

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
const SPAN = /^(?:\d{1,9}[smhdw])+$/

/** Seconds; undefined when the text is no span. */
export function parseDuration(text: string): number | undefined {
  if (!SPAN.test(text)) return undefined
  let seconds = 0
  for (const [, count, unit] of text.matchAll(/(\d+)([smhdw])/g)) {
    seconds += Number(count) * SECONDS[unit!]!
  }
  return Number.isSafeInteger(seconds) ? seconds : undefined
}
