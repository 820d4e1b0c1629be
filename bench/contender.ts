/** A contender: how it is started, and its data. */
import type { Command } from './server.ts'

export interface Contender {
  /** Contenders with an equal key share a process. */
  readonly key: string
  /** Name of its data folder; contenders that only read may share one. */
  readonly folder: string
  /** Fills an empty folder. */
  prepare(folder: string): Promise<void>
  command(folder: string): Command
  /** Returns why the contender is not available; undefined if it is. */
  absent?(): string | undefined
  /** CPU time of the database server that it uses, microseconds. */
  databaseMicros?(): Promise<number>
}
