/**
 * Runs one scenario in a process of its own, which `scenario-run.ts` forks: every process and file
 * of the scenario ends with it.
 */
import { seeded } from './kill.ts'
import type { ChaosCounts, ChaosResult, ScenarioOrder } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'
import { Witness } from './witness.ts'

process.once('message', (order) => void run(order as ScenarioOrder))

/** Sends the result. An exception is a broken promise. */
async function run({ name, nodes, folder, seed, ...sizes }: ScenarioOrder): Promise<void> {
  const scenario = SCENARIOS.find((each) => each.name === name)!
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1_000)
  const witness = new Witness()
  const report = (line: string) => void process.stderr.write(`  ${seconds()} s: ${line}\n`)
  const context = { seed, random: seeded(seed), nodes, folder, ...sizes, witness, report }
  const counts = await scenario
    .run(context)
    .catch((error: Error): ChaosCounts => ({ lost: 0, faults: [error.stack ?? error.message] }))
  const faults = [...counts.faults, ...witness.missing(scenario.words ?? [])]
  const { words } = witness
  const result: ChaosResult = {
    scenario: name,
    nodes,
    seconds: seconds(),
    ...counts,
    faults,
    words,
  }
  process.send!(result) // the parent ends this process
}
