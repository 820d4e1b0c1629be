/** Medians and ratios of rounds, as the bench of deliveries prints them. */

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!

/** The median, and the range. */
export const ratioText = (all: readonly number[]): string =>
  `${median(all).toFixed(2)} (${Math.min(...all).toFixed(2)}–${Math.max(...all).toFixed(2)})`
