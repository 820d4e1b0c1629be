/** A row of the bench: contenders, their requests, the checks of responses, the targets. */
import type { Contender } from './contender.ts'
import type { Sample } from './drive.ts'
import type { BenchRequest } from './load.ts'

export interface Side {
  readonly name: string
  /** Contenders with an equal `key` share a process. */
  readonly contender: Contender
  /** Further processes of this side; the n-th runs on core 2 n, if it exists, else on the last. */
  readonly others?: readonly Contender[]
  /** Returns the requests, sent cyclically. Called once; with `each`, before each round. */
  requests(url: string): Promise<readonly BenchRequest[]> | readonly BenchRequest[]
  /** Header with the credential. A request without it or with a wrong one must get 401 or 403. */
  readonly credential?: string
  /** The expected status of every response. Default 200. */
  readonly status?: number
  /** The target of the CPU time of the server per response, as a median over the rounds. */
  readonly mostCpuMicros?: number
  /** The target of the 99th percentile of the latency, as a median over the rounds. */
  readonly mostP99Ms?: number
  /** Returns the error in a sampled response; undefined if it is correct. */
  check(request: BenchRequest, response: Sample): string | undefined
  /** Sends further requests until `signal`; their responses do not count. */
  beside?(url: string, signal: AbortSignal): Promise<void>
  /** After the rounds and a SIGKILL: compares the data with the acknowledged requests. */
  audit?(folder: string, acknowledged: number): Promise<string | undefined>
}

export interface Target {
  /** The figure of the ratio, per round. The target applies to the median over the rounds. */
  readonly figure?: 'rate' | 'p99'
  readonly of: string
  readonly to: string
  /** Minimum and maximum of `of` ÷ `to`. */
  readonly least?: number
  readonly most?: number
}

/** The conditions of a row, printed above its table. */
export interface Facts {
  readonly durability: string
  readonly connections: number
  readonly users: number
}

export interface LoadRow {
  readonly kind: 'load'
  /** Its name on the command line: `1`, `1b`, `1@100k`. */
  readonly name: string
  readonly title: string
  readonly facts: Facts
  /** Number of requests per round that can be sent only once; generated before each round. */
  readonly each?: number
  readonly sides: readonly Side[]
  readonly targets: readonly Target[]
}

/** A row about process start: first response, memory at rest. */
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
  /** Whether each start has an empty folder. */
  readonly fresh: boolean
  /** The first request. */
  readonly request: BenchRequest
  readonly atMost?: { readonly seconds: number; readonly restMb: number }
}

/** A row about one long response: its lines per second, and the memory that it costs. */
export interface ExportRow {
  readonly kind: 'export'
  readonly name: string
  readonly title: string
  readonly facts: Facts
  readonly sides: readonly ExportSide[]
}

export interface ExportSide {
  readonly name: string
  readonly contender: Contender
  /** Method, target and headers of the request. */
  readonly request: BenchRequest
  /** Lines of a whole export, with the head of a table. */
  readonly lines: number
  /** Returns the error in the first or last line of rows; undefined if it is correct. */
  check(line: string): string | undefined
  readonly target: { readonly rate: number; readonly growthMb: number }
}

export type Row = LoadRow | StartRow | ExportRow
