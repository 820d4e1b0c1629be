/** Contenders on PostgreSQL: how they are started and filled. */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { withName } from '../test/rig/postgres.ts'
import { type Contender, gatehookCommand, startOnce } from './contenders.ts'
import { BENCH_KEY_HASH, userOf } from './data.ts'
import { newDatabase, newReplica } from './postgres.ts'

/** The cores of PostgreSQL: unused ones, or that of the load generator (see `main.ts`). */
const cores = availableParallelism()
const CORES = cores > 3 ? `3-${cores - 1}` : cores > 1 ? '1' : undefined

const URL_FILE = 'database-url'
const urlOf = (folder: string) => readFileSync(join(folder, URL_FILE), 'utf8')

async function databaseIn(folder: string): Promise<string> {
  const url = await newDatabase(CORES)
  writeFileSync(join(folder, URL_FILE), url)
  return url
}

/** Contenders with different `node` numbers are processes on one database. */
export function gatehookOnPostgres(users: number, node = 1): Contender {
  const data = `gatehook-postgres-${users}`
  const command = (folder: string) => {
    const { args, env } = gatehookCommand(urlOf(folder))
    return { args, env: { ...env, GATEHOOK_SECRET_KEY: Buffer.alloc(32, 'bench').toString('hex') } }
  }
  return {
    key: `${data}-${node}`,
    folder: data,
    async prepare(folder) {
      const url = await databaseIn(folder)
      await startOnce(command(folder), folder)
      await connected(url, (client) => fillGatehook(client, users))
    },
    command,
  }
}

const REPLICA_FILE = 'replica-url'

/** Reads from a standby; CPU time of the server is that of the primary. */
export function gatehookWithReplica(users: number): Contender {
  const contender = gatehookOnPostgres(users)
  const data = `gatehook-replica-${users}`
  return {
    key: data,
    folder: data,
    async prepare(folder) {
      await contender.prepare!(folder)
      const replicaUrl = withName(await newReplica(), new URL(urlOf(folder)).pathname.slice(1))
      writeFileSync(join(folder, REPLICA_FILE), replicaUrl)
    },
    command(folder) {
      const { args, env } = contender.command(folder)
      const replicaUrl = readFileSync(join(folder, REPLICA_FILE), 'utf8')
      return { args, env: { ...env, GATEHOOK_DATABASE_READ_URLS: replicaUrl } }
    },
  }
}

/** Uses `pg.Pool`, or pipelined connections as the engine does. */
export function handmadeOnPostgres(users: number, pipeline: boolean): Contender {
  const data = `handmade-postgres-${users}`
  return {
    key: `${data}${pipeline ? '-pipeline' : ''}`,
    folder: data,
    async prepare(folder) {
      await connected(await databaseIn(folder), (client) => fillHandmade(client, users))
    },
    command: (folder) => ({
      args: [
        new URL('contenders/handmade.ts', import.meta.url).pathname,
        ...['--full', '--postgres', urlOf(folder), ...(pipeline ? ['--pipeline'] : [])],
      ],
    }),
  }
}

async function connected(url: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await use(client).finally(() => client.end())
}

/** Returns columns of users as arrays, for `unnest`. */
function columns(first: number, users: number) {
  const all = Array.from({ length: users }, (_, n) => userOf(first + n, false))
  return [
    all.map(({ id }) => id),
    all.map(({ name }) => name),
    all.map(({ email }) => email),
    all.map(({ createdAt }) => createdAt),
  ]
}

const UNNEST = 'unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])'

async function fillHandmade(client: pg.Client, users: number): Promise<void> {
  await client.query(`
    CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL);
    CREATE TABLE api_keys (hash BYTEA PRIMARY KEY, id TEXT NOT NULL, scopes TEXT NOT NULL)`)
  const key = [BENCH_KEY_HASH, 'key_1', 'users:read']
  await client.query('INSERT INTO api_keys VALUES ($1, $2, $3)', key)
  await client.query(`INSERT INTO users SELECT * FROM ${UNNEST}`, columns(1, users))
  await client.query('CREATE INDEX users_created_at ON users (created_at, id)')
  await client.query('VACUUM ANALYZE')
}

/** Depends on the tables that `fill.ts` names. */
export async function fillGatehook(client: pg.Client, users: number): Promise<void> {
  const keys = await client.query(
    `SELECT k.scope FROM gh_api_keys k JOIN gh_api_key_secrets s ON s.key_id = k.id
     WHERE s.hash = $1`,
    [BENCH_KEY_HASH],
  )
  if (keys.rows.length === 0) throw new Error('the first start did not store the bootstrap key')
  const { scope } = keys.rows[0]
  const { rows } = await client.query('SELECT coalesce(max(id), 0) AS id FROM users')
  await client.query(
    `INSERT INTO users (scope, id, name, email, created_at) SELECT $5::bigint, * FROM ${UNNEST}`,
    [...columns(Number(rows[0].id) + 1, users), scope],
  )
  await client.query(
    `INSERT INTO gh_counters (scope, collection, slot, total) VALUES ($1, 'users', 0, $2)
     ON CONFLICT (scope, collection, slot) DO UPDATE
       SET total = gh_counters.total + excluded.total`,
    [scope, users],
  )
  await client.query('VACUUM ANALYZE')
}
