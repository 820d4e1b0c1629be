/** A row of the bench: contenders, what they are asked, how answers are judged, what to reach. */
import type { Contender } from './contenders.ts'
import type { Sample } from './drive.ts'
import type { Ask } from './load.ts'

export interface Side {
  readonly name: string
  /** Sides whose contenders have one `key` are asked in one process. */
  readonly contender: Contender
  /** Asked together with `contender`; the n-th on core 2 n, if there is one, else on the last. */
  readonly others?: readonly Contender[]
  /** CPU time so far, in microseconds, of what works for all sides: a database server. */
  sharedMicros?(): Promise<number>
  /** Made once the contender answers at `url`; walked round and round. With `each`: every round. */
  asks(url: string): Promise<readonly Ask[]> | readonly Ask[]
  /** Header with the credential: before the load, without it or with a wrong one, 401 or 403. */
  readonly credential?: string
  /** The status every answer must have. Default 200. */
  readonly status?: number
  /** What is wrong with the content of a sampled answer; undefined when nothing is. */
  check(ask: Ask, answer: Sample): string | undefined
  /** What else the contender does while it is asked, until `signal`; its answers do not count. */
  beside?(url: string, signal: AbortSignal): Promise<void>
  /** After the rounds and a SIGKILL: whether the folder holds what was acknowledged. */
  audit?(folder: string, acknowledged: number): string | undefined
}

export interface Target {
  /** Of the sides' rates, of one round each (or their p99); the median of ratios is judged. */
  readonly figure?: 'rate' | 'p99'
  readonly of: string
  readonly to: string
  /** `least`: of ÷ to must reach it. `most`: of ÷ to must not pass it. */
  readonly least?: number
  readonly most?: number
}

/** What stands over a row's table, so that a figure is never read without it. */
export interface Facts {
  readonly durability: string
  readonly connections: number
  readonly users: number
}

export interface LoadRow {
  readonly kind: 'load'
  /** As asked for on the command line: `1`, `1b`, `1@100k`. */
  readonly name: string
  readonly title: string
  readonly facts: Facts
  /** Requests of a round that are good once: as many are made before it, however long it lasts. */
  readonly each?: number
  readonly sides: readonly Side[]
  readonly targets: readonly Target[]
}

/** Process start, first answer, memory at rest. */
export interface StartRow {
  readonly kind: 'start'
  readonly name: string
  readonly title: string
  readonly facts: Facts
  readonly sides: readonly StartSide[]
}

export interface StartSide {
  readonly name: string
  readonly contender: Contender
  /** Whether every start finds an empty folder. */
  readonly fresh: boolean
  /** The first request. */
  readonly ask: Ask
  readonly atMost?: { readonly seconds: number; readonly restMb: number }
}

export type Row = LoadRow | StartRow
