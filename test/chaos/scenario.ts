/** The input and the result of a scenario of `npm run chaos`. */
import type { ProductWord, Witness } from './witness.ts'

/**
 * `load`: long runs of one kind of fault. `operate`: one fault of each kind, and its name. `drill`:
 * the ten of these that an operator names from console, readiness and metrics alone.
 */
export type ChaosGroup = 'load' | 'operate' | 'drill'

/** The sizes of a run of a scenario. */
interface ScenarioSizes {
  readonly seed: number
  readonly nodes: number
  /** An empty folder, which remains after a failure. */
  readonly folder: string
  /** Events of the scenarios that count deliveries, and kills among them. */
  readonly events: number
  readonly kills: number
  /** Rows of the table that changes. */
  readonly rows: number
}

/** The message to the process of a scenario. */
export interface ScenarioOrder extends ScenarioSizes {
  readonly name: string
}

export interface ChaosContext extends ScenarioSizes {
  readonly random: () => number
  readonly witness: Witness
  report(line: string): void
}

/** The counts of a run. Undefined: the scenario does not measure it. */
export interface ChaosCounts {
  readonly acknowledged?: number
  readonly requests?: number
  readonly failed?: number
  readonly failedReads?: number
  readonly failedWrites?: number
  readonly longestWaitMs?: number
  readonly lost: number
  /** Lost changes that the product names: of a failover without a synchronous standby. */
  readonly named?: number
  readonly doubled?: number
  readonly doubleSpent?: number
  /** Rows and webhooks that no acknowledged request explains. */
  readonly phantom?: number
  readonly resent?: number
  /** The most webhooks that the faults may repeat, by the documented bound; undefined: all. */
  readonly resentMax?: number
  readonly recoveryMs?: number
  /** Sentences about broken promises. Empty: the run passed. */
  readonly faults: readonly string[]
}

export interface ChaosScenario {
  readonly name: string
  readonly title: string
  readonly groups: readonly ChaosGroup[]
  /** The numbers of nodes that it runs with; `operate` and `drill` use the first one. */
  readonly nodes: readonly number[]
  /** Words of the product for the fault, within a minute. The page of faults has them. */
  readonly words?: readonly RegExp[]
  /** Default: ten minutes. */
  readonly limitMs?: number
  /** Says which program of the machine is missing. */
  readonly missing?: () => string | undefined
  run(context: ChaosContext): Promise<ChaosCounts>
}

export interface ChaosResult extends ChaosCounts {
  readonly scenario: string
  readonly nodes: number
  readonly seconds: number
  /** The product's words for the fault. */
  readonly words: readonly ProductWord[]
}
