/**
 * The depth of tests of random values. `npm test` runs a tenth of their values, and the first of
 * their seeds; `npm run test:all`, and a file that a developer names, run all.
 */
export const isDeep: boolean = process.env.GATEHOOK_TEST_SLICE !== '1'

/** Returns the number of random values of a test that has `all` of them in a deep run. */
export const runsOf = (all: number): number => (isDeep ? all : Math.ceil(all / 10))

/** Returns the seeds of this run. */
export const seedsOf = (all: readonly number[]): readonly number[] =>
  isDeep ? all : all.slice(0, 1)
