/**
 * `npm run chaos:emit`: kill -9 of applications, nodes and the database while transactions emit
 * events (§17.2). Options: `--rounds 1000 --minutes 120 --seed N --clients pg,psycopg|all`, and
 * `--folder KEPT` for the packages of the applications. The exit code is 1 if an event was lost,
 * has no row, or arrived more often than the kills explain.
 *
 * `-- --snapshot 360000` measures the delay of deliveries instead, before and beside a snapshot and
 * a transaction that stay open while that many events are emitted and delivered.
 */
import { parseArgs } from 'node:util'
import { measureDelays } from './emission-delay.ts'
import { killWhileEmitting } from './emission-kill.ts'
import { type EmitterName, emitterNames } from './emitters.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    clients: { type: 'string', default: 'pg' },
    folder: { type: 'string' },
    snapshot: { type: 'string' },
  },
})
const report = (line: string) => process.stderr.write(`${line}\n`)

if (values.snapshot !== undefined) {
  console.log(JSON.stringify(await measureDelays(Number(values.snapshot), report)))
} else {
  const names = values.clients.split(',') as EmitterName[]
  const clients = values.clients === 'all' ? emitterNames : names
  const [rounds, minutes] = [Number(values.rounds), Number(values.minutes)]
  const { seed, folder } = values
  const options = { rounds, minutes, seed: Number(seed), clients, folder }
  const result = await killWhileEmitting(options, report)
  console.log(JSON.stringify(result))
  const { lost, phantom, doubled, inFlight } = result
  process.exitCode = lost + phantom > 0 || doubled > inFlight ? 1 : 0
}
