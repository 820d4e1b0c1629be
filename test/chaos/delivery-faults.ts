/** Kills, moves, restores and a long change of the schema while events are posted and delivered. */
import { join } from 'node:path'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { createDatabase, type PostgresServer, startPostgres } from '../rig/postgres.ts'
import { type ChaosOptions, chaos } from './kill.ts'
import { moveUnderLoad, type RelocationResult, restoreUnderLoad } from './relocate.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { changeUnderLoad } from './schema-change.ts'
import { SETTINGS } from './under-load.ts'

const REGISTRATIONS = 3
/** More than are sent between two kills. */
const BACKLOG = { waiting: 5_000 }

async function withServer<T>(run: (server: PostgresServer) => Promise<T>): Promise<T> {
  const server = await startPostgres(SETTINGS)
  try {
    return await run(server)
  } finally {
    await server.stop()
  }
}

const newKey = () => generateApiKey(systemRandom(), 'live')

/** Verifies deliveries: duplicates are those that a kill leaves in flight. */
function verifyDeliveries(
  { acknowledged, lost, duplicates, inFlight }: Omit<RelocationResult, 'kills'>,
  resentMax = inFlight,
): ChaosCounts {
  const faults = lost > 0 ? [`lost: ${lost}`] : []
  if (duplicates > resentMax) {
    faults.push(`${duplicates} deliveries arrived again; ${inFlight} were in flight`)
  }
  const bound = Number.isFinite(resentMax) && { resentMax }
  return { acknowledged, lost, resent: duplicates, ...bound, faults }
}

async function killDuringDeliveries(
  context: ChaosContext,
  databaseUrl: string,
  more: Pick<ChaosOptions, 'server' | 'waiting'> = {},
): Promise<ChaosCounts> {
  const { nodes, seed, events, kills } = context
  const sizes = { nodes, seed, events, kills, registrations: REGISTRATIONS }
  const options = { databaseUrl, key: newKey(), ...sizes, ...more }
  return verifyDeliveries(await chaos(options, context.report))
}

const sqliteFile = (folder: string, name: string) => `sqlite:${join(folder, name, 'gatehook.db')}`

const relocation = ({ seed, events }: ChaosContext, source: string, target: string) => ({
  source,
  target,
  key: newKey(),
  seed,
  events,
  registrations: REGISTRATIONS,
})

const move = (
  name: string,
  title: string,
  addresses: (context: ChaosContext, server: PostgresServer) => Promise<[string, string]>,
): ChaosScenario => ({
  name,
  title,
  groups: ['load'],
  nodes: [1],
  run: (context) =>
    withServer(async (server) => {
      const [source, target] = await addresses(context, server)
      return verifyDeliveries(await moveUnderLoad(relocation(context, source, target)))
    }),
})

async function changeSchema({ folder, rows }: ChaosContext): Promise<ChaosCounts> {
  const result = await withServer(async (server) =>
    changeUnderLoad({
      databaseUrl: await createDatabase(server.url),
      key: newKey(),
      folder,
      rows,
      quietMs: 10_000,
    }),
  )
  const { requests, failed, changeMs } = result
  const faults = failed > 0 ? [`failed: ${failed}`] : []
  return { requests, failed, lost: 0, recoveryMs: changeMs, faults }
}

export const deliveryFaults: readonly ChaosScenario[] = [
  {
    name: 'deliveries-sqlite',
    title: 'kill -9 while events are delivered, on SQLite',
    groups: ['load', 'operate'],
    nodes: [1],
    run: (context) => killDuringDeliveries(context, sqliteFile(context.folder, 'kill')),
  },
  {
    name: 'deliveries-postgres',
    title: 'kill -9 of nodes and of PostgreSQL while events are delivered',
    groups: ['load'],
    nodes: [1, 2, 4],
    run: (context) =>
      withServer(async (server) =>
        killDuringDeliveries(context, await createDatabase(server.url), { server }),
      ),
  },
  {
    name: 'backlog-sqlite',
    title: 'kill -9 while deliveries of backlogs are sent, on SQLite',
    groups: ['load'],
    nodes: [1],
    run: (context) => killDuringDeliveries(context, sqliteFile(context.folder, 'kill'), BACKLOG),
  },
  {
    name: 'backlog-postgres',
    title: 'kill -9 of nodes and of PostgreSQL while deliveries of backlogs are sent',
    groups: ['load'],
    nodes: [1, 2, 4],
    run: (context) =>
      withServer(async (server) => {
        const more = { ...BACKLOG, server }
        return killDuringDeliveries(context, await createDatabase(server.url), more)
      }),
  },
  {
    name: 'restore',
    title: 'a backup under load, restored after a kill -9, on SQLite',
    groups: ['load', 'operate'],
    nodes: [1],
    async run(context) {
      const { folder } = context
      const options = relocation(context, sqliteFile(folder, 'a'), sqliteFile(folder, 'b'))
      // The deliveries since the backup are resent.
      return verifyDeliveries(await restoreUnderLoad(options, folder), Number.POSITIVE_INFINITY)
    },
  },
  {
    ...move(
      'move-to-postgres',
      'a move from SQLite to PostgreSQL under load, killed on the way',
      async ({ folder }, { url }) => [sqliteFile(folder, 'a'), await createDatabase(url)],
    ),
    groups: ['load', 'operate'],
  },
  move(
    'move-to-sqlite',
    'a move from PostgreSQL to SQLite under load, killed on the way',
    async ({ folder }, { url }) => [await createDatabase(url), sqliteFile(folder, 'a')],
  ),
  move(
    'move-postgres',
    'a move between PostgreSQL databases under load, killed on the way',
    async (_, { url }) => [await createDatabase(url), await createDatabase(url)],
  ),
  {
    name: 'schema-change',
    title: 'a field with an index on many rows, behind open transactions and a kill -9',
    groups: ['load'],
    nodes: [2],
    run: changeSchema,
  },
]
