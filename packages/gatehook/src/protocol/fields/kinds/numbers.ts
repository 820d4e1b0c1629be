/** Samples and bounds of kinds that are numbers. Pure. */
import type { MemberSpec } from '../spec.ts'

/** The form of a number in the filters of the console. */
export const NUMBER_PATTERN = String.raw`^-?\d+(\.\d+)?$`

/** The bound of unbounded numbers. Beyond it a conversion of units loses precision. */
const LARGE = 1e12

/** Returns the preferred value, or the nearest within the bounds. */
export const sampleNumber = (
  { min = 1, max = Number.MAX_SAFE_INTEGER }: MemberSpec,
  preferred: number,
): number => Math.min(Math.max(preferred, min), max)

export const otherNumber = ({ min = 1 }: MemberSpec, value: unknown): number =>
  value === min ? min + 1 : min

export const unboundedNumbers = ({ min = -LARGE, max = LARGE }: MemberSpec): readonly number[] => [
  min,
  max,
]
