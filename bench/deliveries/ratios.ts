/** Medians and ratios of rounds for the bench of deliveries. */

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!

/** Returns the median and the range as text. */
export const ratioText = (all: readonly number[]): string =>
  `${median(all).toFixed(2)} (${Math.min(...all).toFixed(2)}–${Math.max(...all).toFixed(2)})`
