/** Counts the rows of a long read as work of its list (§11.5). */
import type { Reader } from '../../platform/storage/database.ts'
import type { CallWork } from '../http/call-work.ts'

/** The work for a row on the thread of all requests, about 1.5 µs, as bytes of a response. */
const ROW_BYTES = 60

/** Returns a reader that counts the rows of each statement; other requests run between them. */
export const countRows = (reader: Reader, work: Pick<CallWork, 'count'> | undefined): Reader => ({
  all: (statement) => reader.all(statement),
  get: (statement) => reader.get(statement),
  async arrays(statement) {
    const rows = await reader.arrays(statement)
    await work?.count(rows.length * ROW_BYTES)
    return rows
  },
})
