/** Address ranges a key may be used from (§3.2). Pure; what a range is says `kernel/address.ts`. */
import { parseRange, rangesTest } from '../kernel/address.ts'

export const isCidr = (text: string): boolean => parseRange(text) !== undefined

/** Whether every address of `range` lies in one single range of `outer`. */
export function isWithin(range: string, outer: readonly string[]): boolean {
  const inner = parseRange(range)
  if (!inner) return false
  return outer.some((text) => {
    const { bits, family } = parseRange(text)!
    return family === inner.family && bits <= inner.bits && rangesTest([text])(inner.address)
  })
}

/** Whether an address lies in one of `ranges`; no ranges: everywhere is fine. */
export const addressTest = (ranges: readonly string[]): ((address: string) => boolean) =>
  ranges.length === 0 ? () => true : rangesTest(ranges)
