/** Independent statements in one round trip. */
import type { Reader } from './database.ts'

type Results<T extends readonly (() => Promise<unknown>)[]> = {
  -readonly [K in keyof T]: Awaited<ReturnType<T[K]>>
}

/**
 * Runs tasks whose statements do not depend on each other: on PostgreSQL in one round trip, on
 * SQLite one after the other up to the first that fails. Throws the failure of the first such task.
 */
export async function runTogether<const T extends readonly (() => Promise<unknown>)[]>(
  reader: Pick<Reader, 'hasRoundTrips'>,
  ...tasks: T
): Promise<Results<T>> {
  if (!reader.hasRoundTrips) {
    const results: unknown[] = []
    for (const task of tasks) results.push(await task())
    return results as Results<T>
  }
  const results = await Promise.allSettled(tasks.map((task) => task()))
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  }) as Results<T>
}
