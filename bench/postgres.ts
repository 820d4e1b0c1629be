/**
 * One PostgreSQL for all rows of a run, started with the first database; or the cluster of Citus in
 * `GATEHOOK_TEST_CITUS`, where the tables of Gatehook are distributed.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import {
  createDistributedDatabase,
  distributedServerPids,
  dropDistributedDatabase,
  hasCitus,
} from '../test/rig/citus.ts'
import { createDatabase, type PostgresServer, startPostgres } from '../test/rig/postgres.ts'

const TICK_MICROS = 10_000

const distributedUrls: string[] = []

async function newDistributedDatabase(): Promise<string> {
  const url = await createDistributedDatabase()
  distributedUrls.push(url)
  return url
}

let running: Promise<PostgresServer> | undefined
let replica: Promise<PostgresServer> | undefined

/** With fsync, and without checkpoints within a row. */
const SETTINGS = ['shared_buffers=512MB', 'max_wal_size=8GB']

/**
 * Creates a database and returns its URL: an empty one, or one with distributed tables.
 *
 * @param settings - of the server, which the first call starts
 */
export async function newDatabase(
  cores: string | undefined,
  settings: readonly string[] = SETTINGS,
): Promise<string> {
  if (hasCitus) return newDistributedDatabase()
  running ??= start(cores, settings)
  return createDatabase((await running).url)
}

/** Starts a standby of the server, which restarts for it, and returns its URL. */
export async function newReplica(): Promise<string> {
  if (!running) throw new Error('the bench opens no replica of a cluster of Citus')
  replica ??= running.then((server) => server.openStandby())
  return (await replica).url
}

export async function stopPostgres(): Promise<void> {
  for (const url of distributedUrls.splice(0)) await dropDistributedDatabase(url)
  await (await replica)?.stop()
  await (await running)?.stop()
  running = undefined
  replica = undefined
}

/** Returns user and system time of the server's processes, including ended ones, microseconds. */
export async function postgresMicros(): Promise<number> {
  const pids = hasCitus ? await distributedServerPids() : [await (await running)!.pid()]
  let ticks = 0
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = statOf(name)
    if (pids.includes(Number(name))) ticks += sum(stat, 11, 15)
    else if (pids.includes(Number(stat[1]))) ticks += sum(stat, 11, 13)
  }
  return ticks * TICK_MICROS
}

const sum = (stat: readonly string[], from: number, to: number) =>
  stat.slice(from, to).reduce((total, text) => total + Number(text), 0)

/** Returns the fields after the process name: state, parent, …; empty for an ended process. */
function statOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  } catch {
    return []
  }
}

/** Starts the server. Its later processes inherit its cores. */
async function start(
  cores: string | undefined,
  settings: readonly string[],
): Promise<PostgresServer> {
  const server = await startPostgres([...settings])
  const pid = String(await server.pid())
  if (cores !== undefined) spawnSync('taskset', ['-a', '-c', '-p', cores, pid])
  return server
}
