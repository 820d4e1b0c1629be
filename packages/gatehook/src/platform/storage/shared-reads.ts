/**
 * Reads of one turn of the event loop in one round trip to PostgreSQL. On SQLite, which has no
 * round trips, each read runs at once.
 */
import type { Database, Reader, Row, Statement, Value } from './database.ts'
import { runTogether } from './together.ts'

/** Statements in one round trip; further ones are another one at the same time. */
const STATEMENTS_MAX = 32

type Read = (reader: Reader) => Promise<unknown>

interface WaitingRead {
  readonly read: Read
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Returns a reader whose statements wait for the end of the turn. If one of them fails, all that
 * share its round trip may fail.
 */
export function createSharedReads(db: Database): Reader {
  if (!db.dialect.shared) return db
  let waiting: WaitingRead[] = []
  const send = () => {
    const reads = waiting
    waiting = []
    for (let from = 0; from < reads.length; from += STATEMENTS_MAX) {
      void sendTogether(db, reads.slice(from, from + STATEMENTS_MAX))
    }
  }
  const add = <T>(read: (reader: Reader) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      if (waiting.length === 0) setImmediate(send)
      waiting.push({ read, resolve: resolve as (result: unknown) => void, reject })
    })
  return {
    all: <R extends Row>(statement: Statement) => add((reader) => reader.all<R>(statement)),
    get: <R extends Row>(statement: Statement) => add((reader) => reader.get<R>(statement)),
    arrays: (statement): Promise<Value[][]> => add((reader) => reader.arrays(statement)),
  }
}

/** Never rejects: each read gets the result or the failure. */
async function sendTogether(db: Database, reads: readonly WaitingRead[]): Promise<void> {
  const [first] = reads
  try {
    if (reads.length === 1) return first!.resolve(await first!.read(db))
    const results = await db.snapshot(
      (reader) =>
        runTogether(
          reader,
          ...reads.map(
            ({ read }) =>
              () =>
                read(reader),
          ),
        ),
      { single: true },
    )
    for (const [index, { resolve }] of reads.entries()) resolve(results[index])
  } catch (error) {
    for (const { reject } of reads) reject(error)
  }
}
