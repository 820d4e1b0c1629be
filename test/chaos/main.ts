/**
 * `npm run chaos [-- GROUP --only kill,failover --nodes 2 --seed N --json --record --list]`: faults
 * under load, with real processes. GROUP is `load` (each fault many times), `operate` (one fault of
 * each kind, and the product's words for it) or `drill` (the ten that an operator names from
 * console, readiness and metrics). `--only` takes names, or how they begin. Prints counts of lost,
 * doubled, phantom and failed requests; `--record` stores them for the page of faults. The exit
 * code is 1 if a promise was broken, 2 for usage.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { recordResult, wordsOf } from './record.ts'
import type { ChaosGroup, ChaosResult, ChaosScenario } from './scenario.ts'
import { runScenario } from './scenario-run.ts'
import { SCENARIOS } from './scenarios.ts'

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
    record: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

const progress = (line: string) => void process.stderr.write(`${line}\n`)
const [group] = positionals
const starts = values.only.split(',').filter((start) => start !== '')
const ofGroup = SCENARIOS.filter(({ groups }) => !group || groups.includes(group as ChaosGroup))
const names = new Set(SCENARIOS.map(({ name }) => name))
const isSelected = (name: string, start: string) =>
  names.has(start) ? name === start : name.startsWith(start)
const selected = ofGroup.filter(
  ({ name }) => starts.length === 0 || starts.some((start) => isSelected(name, start)),
)
if (values.list || selected.length === 0) {
  for (const { name, title, nodes, groups } of ofGroup.length > 0 ? ofGroup : SCENARIOS) {
    console.log(`${name.padEnd(24)} ${title} (${groups.join(', ')}; nodes: ${nodes.join(', ')})`)
  }
  process.exit(values.list && ofGroup.length > 0 ? 0 : 2)
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
progress(`seed ${values.seed}`)
const results = await runAll()
if (values.json) console.log(JSON.stringify({ seed: Number(values.seed), results }, null, 2))
else console.table(results.map(rowOf))
process.exit(results.every(({ faults }) => faults.length === 0) ? 0 : 1)

/** `operate` and `drill` run each fault once. */
function nodeCounts({ nodes }: ChaosScenario): readonly number[] {
  if (values.nodes) return nodes.filter((count) => values.nodes.split(',').includes(String(count)))
  return group === 'operate' || group === 'drill' ? nodes.slice(0, 1) : nodes
}

async function runAll(): Promise<ChaosResult[]> {
  const done: ChaosResult[] = []
  const parent = await mkdtemp(join(tmpdir(), 'gatehook-chaos-'))
  await chmod(parent, 0o711)
  const sizes = {
    seed: Number(values.seed),
    events: Number(values.events),
    kills: Number(values.kills),
    rows: Number(values.rows),
  }
  for (const scenario of selected) {
    const { name, title } = scenario
    const missing = scenario.missing?.()
    if (missing) progress(`${name} is left out: ${missing}`)
    for (const nodes of missing ? [] : nodeCounts(scenario)) {
      const folder = join(parent, `${name}-${nodes}`)
      progress(`${name}, nodes: ${nodes}: ${title}`)
      const result = await runScenario(scenario, { name, nodes, folder, ...sizes })
      done.push(result)
      for (const fault of result.faults) progress(`  BROKEN ${fault}`)
      if (result.faults.length > 0) progress(`  logs: ${folder}`)
      else await rm(folder, { recursive: true, force: true })
      if (!values.record || result.faults.length > 0) continue
      recordResult(scenario, result, folder, [...names])
    }
  }
  if (done.every(({ faults }) => faults.length === 0)) await rm(parent, { recursive: true })
  return done
}

function inSeconds(ms: number | undefined) {
  return ms === undefined ? undefined : ms / 1_000
}

function rowOf(result: ChaosResult) {
  const { scenario, nodes, seconds, acknowledged, lost, doubled, doubleSpent, phantom } = result
  const { failedReads, failedWrites, longestWaitMs, recoveryMs, faults } = result
  const { resent, resentMax } = result
  const { words = [] } = SCENARIOS.find(({ name }) => name === scenario)!
  const word = wordsOf(words, result.words)[0] ?? result.words[0]
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
    'resent max': resentMax,
    'recovery s': inSeconds(recoveryMs),
    'took s': seconds,
    result: faults.length === 0 ? 'passed' : 'BROKEN',
    word: word && `${word.source}: ${word.text}`.slice(0, 110),
  }
}
