/** The span of each transaction of a request. Reads and background work have none. */
import type { Tracing } from '../../kernel/tracing.ts'
import type { Database } from './database.ts'

/**
 * Returns the database with transactions that run inside their span. A transaction waits in a
 * queue, which other requests drive: its own context is restored while it runs.
 */
export function traceWrites(db: Database, tracing: Tracing): Database {
  return {
    ...db,
    /** Also ends the traces: no span begins afterwards. */
    async close() {
      await db.close()
      await tracing.stop()
    },
    async write(change, options) {
      if (!tracing.hasActiveSpan()) return db.write(change, options)
      const span = tracing.start({
        name: 'transaction',
        kind: 'internal',
        attributes: { 'db.system.name': db.name === 'postgres' ? 'postgresql' : db.name },
      })
      try {
        const result = await db.write((tx) => tracing.run(span, () => change(tx)), options)
        span.end()
        return result
      } catch (error) {
        const { name, code = name } = error as Error & { code?: unknown }
        span.end({ error: String(code), attributes: { 'error.type': String(code) } })
        throw error
      }
    },
  }
}
