/**
 * The thread of a long read (`sqlite-long-reads.ts`). It runs one statement at a time, at a lower
 * priority than the thread that serves requests.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { wallClock } from '../../kernel/clock.ts'
import { lowerThreadPriority } from '../../kernel/thread-priority.ts'
import type { Statement } from './database.ts'
import { Connection, retryWhileBusy } from './sqlite-connection.ts'
import { configureReader } from './sqlite-file.ts'

/** A statement and the form of its rows, or the begin or end of the transaction. */
export type LongReadCommand =
  | { readonly rows: 'objects' | 'arrays'; readonly statement: Statement }
  | { readonly exec: 'BEGIN' | 'COMMIT' }

export type LongReadResult =
  | { readonly value: unknown }
  | { readonly error: { readonly message: string; readonly errcode: number | undefined } }

/** Small: reads use the memory map of the file. */
const CACHE_KIB = 4_096

const { file } = workerData as { readonly file: string }
const connection = new Connection(file, true)
configureReader(connection, CACHE_KIB)
lowerThreadPriority()

const perform = (command: LongReadCommand): unknown => {
  if ('exec' in command) return connection.exec(command.exec)
  return command.rows === 'arrays'
    ? connection.arrays(command.statement)
    : connection.all(command.statement)
}

parentPort!.on('message', async (command: LongReadCommand) => {
  try {
    const value = await retryWhileBusy(wallClock, () => perform(command))
    parentPort!.postMessage({ value } satisfies LongReadResult)
  } catch (error) {
    const { message, detail } = error as Error & { detail?: { errcode?: number } }
    const errcode = (error as { errcode?: number }).errcode ?? detail?.errcode
    parentPort!.postMessage({ error: { message, errcode } } satisfies LongReadResult)
  }
})
