/** The periods for which an old secret stays valid after a new one exists: seconds and words. */
const HOUR_S = 3600
const DAY_S = 24 * HOUR_S

export const OVERLAPS = [
  ['0', 'Ends at once'],
  [String(HOUR_S), 'Ends in 1 hour'],
  [String(DAY_S), 'Ends in 24 hours'],
  [String(7 * DAY_S), 'Ends in 7 days'],
] as const

/** The first values of a form. */
export const USUAL_OVERLAP = { overlap_seconds: DAY_S }
