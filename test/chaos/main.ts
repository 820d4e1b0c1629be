/**
 * `npm run chaos [-- --seed N --events N --kills N --rows N]`: kill -9 during thousands of events,
 * on SQLite and on PostgreSQL with two nodes, where a third of the kills hit the server; then a
 * restore, moves and a change of the declaration under load. Prints tables. The exit code is 1 if
 * an event is lost, more deliveries are duplicates than were in flight, or a request fails during
 * the change.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { createDatabase, startPostgres } from '../rig/postgres.ts'
import { type ChaosResult, chaos } from './kill.ts'
import { moveUnderLoad, type RelocationResult, restoreUnderLoad } from './relocate.ts'
import { changeUnderLoad, type SchemaChangeResult } from './schema-change.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    events: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '20' },
    rows: { type: 'string', default: '1000000' },
  },
})
const sizes = {
  seed: Number(values.seed),
  events: Number(values.events),
  kills: Number(values.kills),
  registrations: 3,
}
const report = (line: string) => void process.stderr.write(`${line}\n`)
report(`seed ${sizes.seed}`)
const folder = await mkdtemp(join(tmpdir(), 'gatehook-chaos-'))
// Without fsync a crash of the server process, not of the machine, loses no commit.
const server = await startPostgres(['fsync=off', 'full_page_writes=off'])
const results: [string, ChaosResult][] = []
const changes: SchemaChangeResult[] = []
const relocations: [string, RelocationResult][] = []
try {
  for (const [name, databaseUrl, nodes] of [
    ['SQLite, one process', `sqlite:${join(folder, 'gatehook.db')}`, 1],
    ['PostgreSQL, two nodes', await createDatabase(server.url), 2],
  ] as const) {
    const key = generateApiKey(systemRandom(), 'live')
    const ends = nodes > 1 ? { server } : {}
    results.push([name, await chaos({ databaseUrl, key, nodes, ...sizes, ...ends }, report)])
  }
  const file = (name: string) => `sqlite:${join(folder, name, 'gatehook.db')}`
  const newDatabase = () => createDatabase(server.url)
  const relocation = (source: string, target: string) => ({
    source,
    target,
    key: generateApiKey(systemRandom(), 'live'),
    ...sizes,
  })
  report('backup and restore under load')
  const restored = await restoreUnderLoad(relocation(file('a'), file('b')), folder)
  relocations.push(['SQLite, restored elsewhere', restored])
  for (const [name, source, target] of [
    ['SQLite to PostgreSQL', file('c'), await newDatabase()],
    ['PostgreSQL to SQLite', await newDatabase(), file('d')],
    ['PostgreSQL to PostgreSQL', await newDatabase(), await newDatabase()],
  ] as const) {
    report(`move under load: ${name}`)
    relocations.push([name, await moveUnderLoad(relocation(source, target))])
  }
  report('change of the declaration under load')
  const declarations = join(folder, 'declarations')
  changes.push(
    await changeUnderLoad({
      databaseUrl: await newDatabase(),
      key: generateApiKey(systemRandom(), 'live'),
      folder: declarations,
      rows: Number(values.rows),
      quietMs: 20_000,
    }),
  )
} finally {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}
console.table(Object.fromEntries(results))
console.table(Object.fromEntries(relocations))
console.table(changes)
// After a restore, the deliveries since the backup are resent.
const [restored, ...moves] = relocations.map(([, result]) => result)
const isWhole = ({
  lost,
  duplicates,
  inFlight,
}: Pick<ChaosResult, 'lost' | 'duplicates' | 'inFlight'>) => lost === 0 && duplicates <= inFlight
const runs = [...results.map(([, result]) => result), ...moves]
process.exitCode =
  restored?.lost === 0 && runs.every(isWhole) && changes.every(({ failed }) => failed === 0) ? 0 : 1
