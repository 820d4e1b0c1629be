/** The input and the result of a scenario of `npm run chaos`. */
export interface ChaosContext {
  readonly seed: number
  readonly random: () => number
  readonly nodes: number
  /** An empty folder, which remains after a failure. */
  readonly folder: string
  /** Events of the scenarios that count deliveries, and kills among them. */
  readonly events: number
  readonly kills: number
  /** Rows of the table that changes. */
  readonly rows: number
  report(line: string): void
}

/** The counts of a run. Undefined: the scenario does not measure it. */
export interface ChaosCounts {
  readonly acknowledged?: number
  readonly requests?: number
  readonly failed?: number
  readonly lost: number
  readonly doubled?: number
  readonly doubleSpent?: number
  readonly resent?: number
  readonly recoveryMs?: number
  /** Sentences about broken promises. Empty: the run passed. */
  readonly faults: readonly string[]
}

export interface ChaosScenario {
  readonly name: string
  readonly title: string
  /** The numbers of nodes that it runs with. */
  readonly nodes: readonly number[]
  /** Says which program of the machine is missing. */
  readonly missing?: () => string | undefined
  run(context: ChaosContext): Promise<ChaosCounts>
}
