/**
 * `npm run bench:scale [-- --requests 50000 --deliveries 20000 --writes 0.2 --rows 0.4 --cores 32
 * --wal-mb 400 --connections 1000 --utilization 0.6 --count 20000 --json]`: measures the unit costs
 * of requests and deliveries on PostgreSQL, and prints the plan for the stated load.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { stopPostgres } from '../postgres.ts'
import { planScale, type StatedLoad, UNIT_NAMES, type UnitCosts } from './plan.ts'
import { measureUnits } from './units.ts'

const MB = 1_000_000

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '50000' },
    deliveries: { type: 'string', default: '20000' },
    writes: { type: 'string', default: '0.2' },
    rows: { type: 'string', default: '0.4' },
    cores: { type: 'string', default: '32' },
    'wal-mb': { type: 'string', default: '400' },
    connections: { type: 'string', default: '1000' },
    utilization: { type: 'string', default: '0.6' },
    count: { type: 'string', default: '10000' },
    json: { type: 'boolean', default: false },
  },
})
const load: StatedLoad = {
  requests: Number(values.requests),
  writePart: Number(values.writes),
  rowPart: Number(values.rows),
  deliveries: Number(values.deliveries),
  databaseCores: Number(values.cores),
  walBytesMax: Number(values['wal-mb']) * MB,
  connectionsMax: Number(values.connections),
  connectionsPerNode: 25,
  utilization: Number(values.utilization),
}
const count = Number(values.count)
const isValid = [...Object.values(load), count].every((value) => value >= 0)
if (!isValid || !(load.writePart + load.rowPart <= 1) || !(load.utilization > 0) || count < 100) {
  console.error('Options are numbers from 0; writes + rows is at most 1, count at least 100.')
  process.exit(2)
}
try {
  const costs = await measureUnits(count, (line) => void process.stderr.write(`${line}\n`))
  const plan = planScale(costs, load)
  if (values.json)
    console.log(JSON.stringify({ cpu: cpus()[0]?.model, costs, load, plan }, null, 2))
  else print(costs, plan)
} finally {
  await stopPostgres()
}

function print(costs: UnitCosts, plan: ReturnType<typeof planScale>): void {
  const tenth = (value: number) => Math.round(value * 10) / 10
  console.log(`costs of one, on ${cpus()[0]?.model}:`)
  const rows = UNIT_NAMES.map((name) => {
    const cost = costs[name]
    return [
      name,
      {
        'CPU of the node µs': Math.round(cost.nodeMicros),
        'CPU of PostgreSQL µs': Math.round(cost.databaseMicros),
        statements: tenth(cost.statements),
        commits: tenth(cost.transactions),
        'log bytes': Math.round(cost.walBytes),
        'disk bytes': Math.round(cost.storedBytes),
      },
    ]
  })
  console.table(Object.fromEntries(rows))
  const { requests, writePart, rowPart, deliveries, utilization, databaseCores } = load
  const reads = `${writePart} writes, ${rowPart} single rows, the others pages of 20`
  const rest = `${deliveries} deliveries/s, at ${utilization} of each resource:`
  console.log(`${requests} requests/s (${reads}), ${rest}`)
  console.table({
    nodes: plan.nodes,
    'cores of the primary': tenth(plan.primaryCores),
    'cores of the primary, reads on replicas': tenth(plan.primaryCoresBesideReplicas),
    [`replicas with ${databaseCores} cores`]: plan.replicas,
    'log MB/s': tenth(plan.walBytesPerSecond / MB),
    'disk GB/day': tenth(plan.storedBytesPerDay / 1_000 / MB),
    connections: plan.connections,
  })
  console.table(
    plan.stages.map(({ name, part, bottleneck }) => ({
      stage: name,
      'carries %': tenth(part * 100),
      'first bottleneck': bottleneck,
    })),
  )
}
