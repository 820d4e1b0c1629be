/** The periods for which an old secret stays valid after a new one exists: seconds and words. */
const HOUR_S = 3600

export const OVERLAPS = [
  ['0', 'Ends at once'],
  [String(HOUR_S), 'Ends in 1 hour'],
  [String(24 * HOUR_S), 'Ends in 24 hours'],
  [String(7 * 24 * HOUR_S), 'Ends in 7 days'],
] as const
