/**
 * `npm run chaos [-- GROUP --only kill,failover --nodes 2 --seed N --json --list]`: faults under
 * load, with real processes. GROUP is `load` (each fault many times), `operate` (one fault of each
 * kind, and the product's words for it) or `drill` (the ten that an operator names from console,
 * readiness and metrics). Prints counts of lost, doubled, phantom and failed requests. The exit
 * code is 1 if a promise was broken, 2 for usage.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { clockSkew } from './clock-skew.ts'
import { databaseFaults } from './database-faults.ts'
import { deliveryFaults } from './delivery-faults.ts'
import { failovers } from './failover.ts'
import { seeded } from './kill.ts'
import { nodeFaults } from './node-faults.ts'
import { operatorFaults } from './operator-faults.ts'
import type { ChaosCounts, ChaosGroup, ChaosResult, ChaosScenario } from './scenario.ts'
import { Witness } from './witness.ts'

const SCENARIOS: readonly ChaosScenario[] = [
  ...nodeFaults,
  ...databaseFaults,
  ...failovers,
  clockSkew,
  ...deliveryFaults,
  ...operatorFaults,
]
const LIMIT_MS = 600_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: '' },
    nodes: { type: 'string', default: '' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    events: { type: 'string', default: '5000' },
    kills: { type: 'string', default: '12' },
    rows: { type: 'string', default: '500000' },
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

const progress = (line: string) => void process.stderr.write(`${line}\n`)
const [group] = positionals
const starts = values.only.split(',').filter((start) => start !== '')
const ofGroup = SCENARIOS.filter(({ groups }) => !group || groups.includes(group as ChaosGroup))
const selected = ofGroup.filter(
  ({ name }) => starts.length === 0 || starts.some((start) => name.startsWith(start)),
)
if (values.list || selected.length === 0) {
  for (const { name, title, nodes, groups } of ofGroup.length > 0 ? ofGroup : SCENARIOS) {
    console.log(`${name.padEnd(24)} ${title} (${groups.join(', ')}; nodes: ${nodes.join(', ')})`)
  }
  process.exit(values.list && ofGroup.length > 0 ? 0 : 2)
}
progress(`seed ${values.seed}`)
const results = await runAll()
if (values.json) console.log(JSON.stringify({ seed: Number(values.seed), results }, null, 2))
else console.table(results.map(rowOf))
// Processes of a scenario that ended at its limit would prevent the exit.
process.exit(results.every(({ faults }) => faults.length === 0) ? 0 : 1)

/** `operate` and `drill` run each fault once. */
function nodeCounts({ nodes }: ChaosScenario): readonly number[] {
  if (values.nodes) return nodes.filter((count) => values.nodes.split(',').includes(String(count)))
  return group === 'operate' || group === 'drill' ? nodes.slice(0, 1) : nodes
}

async function runAll(): Promise<ChaosResult[]> {
  const done: ChaosResult[] = []
  const parent = await mkdtemp(join(tmpdir(), 'gatehook-chaos-'))
  for (const scenario of selected) {
    const missing = scenario.missing?.()
    if (missing) progress(`${scenario.name} is left out: ${missing}`)
    for (const nodes of missing ? [] : nodeCounts(scenario)) {
      const folder = join(parent, `${scenario.name}-${nodes}`)
      const result = await runOne(scenario, nodes, folder)
      done.push(result)
      for (const fault of result.faults) progress(`  BROKEN ${fault}`)
      if (result.faults.length > 0) progress(`  logs: ${folder}`)
      else await rm(folder, { recursive: true, force: true })
    }
  }
  if (done.every(({ faults }) => faults.length === 0)) await rm(parent, { recursive: true })
  return done
}

/** Runs a scenario within its limit. An exception is a broken promise. */
async function runOne(
  scenario: ChaosScenario,
  nodes: number,
  folder: string,
): Promise<ChaosResult> {
  const { name, title, words = [], limitMs = LIMIT_MS } = scenario
  progress(`${name}, nodes: ${nodes}: ${title}`)
  await mkdir(folder)
  const seed = Number(values.seed)
  const startedMs = performance.now()
  const secondsNow = () => Math.round((performance.now() - startedMs) / 1_000)
  const witness = new Witness()
  const context = {
    seed,
    random: seeded(seed),
    nodes,
    folder,
    events: Number(values.events),
    kills: Number(values.kills),
    rows: Number(values.rows),
    witness,
    report: (line: string) => progress(`  ${secondsNow()} s: ${line}`),
  }
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, limitMs, new Error(`no end within ${limitMs / 1_000} s`))
  })
  const counts = await Promise.race([scenario.run(context), limit]).catch(
    (error: Error): ChaosCounts => ({ lost: 0, faults: [error.stack ?? error.message] }),
  )
  clearTimeout(timer)
  const faults = [...counts.faults, ...witness.missing(words)]
  const [first] = words
  const named = first && witness.find(first)
  const others = witness.words.filter((word) => word !== named)
  const allWords = named ? [named, ...others] : others
  return { scenario: name, nodes, seconds: secondsNow(), ...counts, faults, words: allWords }
}

function inSeconds(ms: number | undefined) {
  return ms === undefined ? undefined : ms / 1_000
}

function rowOf(result: ChaosResult) {
  const { scenario, nodes, seconds, acknowledged, lost, doubled, doubleSpent, phantom } = result
  const { failedReads, failedWrites, longestWaitMs, resent, recoveryMs, faults, words } = result
  const [word] = words
  return {
    scenario,
    nodes,
    acknowledged,
    lost,
    doubled,
    'double-spent': doubleSpent,
    phantom,
    'failed r': failedReads,
    'failed w': failedWrites,
    'longest s': inSeconds(longestWaitMs),
    resent,
    'recovery s': inSeconds(recoveryMs),
    'took s': seconds,
    result: faults.length === 0 ? 'passed' : 'BROKEN',
    word: word && `${word.source}: ${word.text}`.slice(0, 110),
  }
}
