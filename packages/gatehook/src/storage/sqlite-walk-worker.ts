/**
 * A thread that reads one SQLite file for long reads (`sqlite-walks.ts`). It runs one statement at
 * a time and yields its core to the thread that serves requests.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { wallClock } from '../kernel/clock.ts'
import { lowerThreadPriority } from '../kernel/thread-priority.ts'
import type { Statement } from './database.ts'
import { Connection, patiently } from './sqlite-connection.ts'
import { configureReader } from './sqlite-file.ts'

/** What the main thread sends: a statement and how its rows return, or a transaction's edge. */
export type WalkCommand =
  | { readonly rows: 'objects' | 'arrays'; readonly statement: Statement }
  | { readonly exec: 'BEGIN' | 'COMMIT' }

export type WalkResult =
  | { readonly value: unknown }
  | { readonly error: { readonly message: string; readonly errcode: number | undefined } }

/** A second copy of the page cache would hold memory for no gain: reads go through mmap. */
const CACHE_KIB = 4_096

const { file } = workerData as { readonly file: string }
const connection = new Connection(file, true)
configureReader(connection, CACHE_KIB)
lowerThreadPriority()

const perform = (command: WalkCommand): unknown => {
  if ('exec' in command) return connection.exec(command.exec)
  return command.rows === 'arrays'
    ? connection.arrays(command.statement)
    : connection.all(command.statement)
}

parentPort!.on('message', async (command: WalkCommand) => {
  try {
    const value = await patiently(wallClock, () => perform(command))
    parentPort!.postMessage({ value } satisfies WalkResult)
  } catch (error) {
    const { message, detail } = error as Error & { detail?: { errcode?: number } }
    const errcode = (error as { errcode?: number }).errcode ?? detail?.errcode
    parentPort!.postMessage({ error: { message, errcode } } satisfies WalkResult)
  }
})
