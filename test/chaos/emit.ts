/**
 * `npm run chaos:emit [-- --rounds 1000 --seed N --clients pg,psycopg --python PATH]`: kill -9 of
 * applications, nodes and the database while transactions emit events (§17.2). The exit code is 1
 * if an event was lost, has no row, or arrived more often than the kills explain.
 */
import { parseArgs } from 'node:util'
import { type EmissionKillOptions, killWhileEmitting } from './emission-kill.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    clients: { type: 'string', default: 'pg' },
    python: { type: 'string', default: 'python3' },
  },
})
const result = await killWhileEmitting(
  {
    rounds: Number(values.rounds),
    seed: Number(values.seed),
    clients: values.clients.split(',') as EmissionKillOptions['clients'],
    python: values.python,
  },
  (line) => process.stderr.write(`${line}\n`),
)
console.log(JSON.stringify(result))
const { lost, phantom, doubled, inFlight } = result
process.exitCode = lost + phantom > 0 || doubled > inFlight ? 1 : 0
