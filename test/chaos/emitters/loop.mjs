/** Transactions until the end of the process, and the decisions of each. */
const [url, prefix] = process.argv.slice(2)

export { url }

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The error by which a transaction rolls back. */
export class RolledBack extends Error {}

/**
 * Calls `pay` with an invoice, and prints its id after the commit.
 *
 * @param pay - runs a transaction; `key` is null for an event without one. It throws `RolledBack`
 *   if `rollsBack`
 */
export async function run(pay) {
  for (let n = 1; ; n++) {
    const id = `${prefix}-${n}`
    const key = n % 2 === 0 ? id : null
    try {
      await pay({ id, key, emitsFirst: n % 3 === 0, rollsBack: n % 8 === 7 })
      console.log(id)
      await pause(40)
    } catch (error) {
      // The commit of a broken connection is unknown.
      await pause(error instanceof RolledBack ? 40 : 80)
    }
  }
}
