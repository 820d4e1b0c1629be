/** Contenders on PostgreSQL: how they are started and filled. */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { withName } from '../test/rig/postgres.ts'
import type { Contender } from './contender.ts'
import { BENCH_KEY_HASH, userOf } from './data.ts'
import type { GatehookFill } from './fill.ts'
import { dataName, type GatehookOptions, gatehookCommand, startOnce } from './gatehook-process.ts'
import { newDatabase, newReplica, postgresMicros } from './postgres.ts'

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

interface NodeOptions extends GatehookOptions {
  /** Contenders with different numbers are processes on one database. */
  readonly node?: number
}

export function gatehookOnPostgres(options: NodeOptions): Contender {
  const { users, tied = false, orders = 0, node = 1 } = options
  const data = `gatehook-postgres-${dataName(options)}`
  const command = (folder: string) => {
    const { args, env } = gatehookCommand(urlOf(folder), options)
    return { args, env: { ...env, GATEHOOK_SECRET_KEY: Buffer.alloc(32, 'bench').toString('hex') } }
  }
  return {
    key: `${data}-${node}`,
    folder: data,
    absent: () => (users === 0 ? 'its database is created before the start' : undefined),
    databaseMicros: postgresMicros,
    async prepare(folder) {
      const url = await databaseIn(folder)
      await startOnce(command(folder), folder)
      await connected(url, (client) => fillGatehook(client, { users, tied, orders }))
    },
    command,
  }
}

const REPLICA_FILE = 'replica-url'

/** Reads from a standby; CPU time of the server is that of the primary. */
export function gatehookWithReplica(users: number): Contender {
  const contender = gatehookOnPostgres({ users })
  const data = `gatehook-replica-${users}`
  return {
    key: data,
    folder: data,
    databaseMicros: postgresMicros,
    async prepare(folder) {
      await contender.prepare(folder)
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
    databaseMicros: postgresMicros,
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

async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  return use(client).finally(() => client.end())
}

/** Returns `count` of the only row of a query. */
export const countOnPostgres = (folder: string, query: string): Promise<number> =>
  connected(urlOf(folder), async (client) => Number((await client.query(query)).rows[0].count))

/** Rows of one INSERT. */
const CHUNK = 100_000
const UNNEST = 'unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])'

/** Returns the arguments of `UNNEST` for each chunk of users. */
function* chunksOf(first: number, users: number, tied: boolean) {
  for (let start = 0; start < users; start += CHUNK) {
    const length = Math.min(CHUNK, users - start)
    const all = Array.from({ length }, (_, n) => userOf(first + start + n, tied))
    yield [
      all.map(({ id }) => id),
      all.map(({ name }) => name),
      all.map(({ email }) => email),
      all.map(({ createdAt }) => createdAt),
    ]
  }
}

async function fillHandmade(client: pg.Client, users: number): Promise<void> {
  await client.query(`
    CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL);
    CREATE TABLE api_keys (hash BYTEA PRIMARY KEY, id TEXT NOT NULL, scopes TEXT NOT NULL)`)
  const key = [BENCH_KEY_HASH, 'key_1', 'users:read']
  await client.query('INSERT INTO api_keys VALUES ($1, $2, $3)', key)
  for (const columns of chunksOf(1, users, false)) {
    await client.query(`INSERT INTO users SELECT * FROM ${UNNEST}`, columns)
  }
  await client.query('CREATE INDEX users_created_at ON users (created_at, id)')
  await client.query('VACUUM ANALYZE')
}

/** Depends on the tables that `fill.ts` names. */
export async function fillGatehook(client: pg.Client, fill: GatehookFill): Promise<void> {
  const { users, tied, orders = 0 } = fill
  const keys = await client.query(
    `SELECT k.scope FROM gh_api_keys k JOIN gh_api_key_secrets s ON s.key_id = k.id
     WHERE s.hash = $1`,
    [BENCH_KEY_HASH],
  )
  if (keys.rows.length === 0) throw new Error('the first start did not store the bootstrap key')
  const { scope } = keys.rows[0]
  const { rows } = await client.query('SELECT coalesce(max(id), 0) AS id FROM users')
  const firstId = Number(rows[0].id) + 1
  for (const columns of chunksOf(firstId, users, tied)) {
    await client.query(
      `INSERT INTO users (scope, id, name, email, gh_folded_email, created_at)
       SELECT $5::bigint, id, name, email, email, created_at
       FROM ${UNNEST} AS filled (id, name, email, created_at)`,
      [...columns, scope],
    )
  }
  await client.query("SELECT setval(pg_get_serial_sequence('users', 'id'), max(id)) FROM users")
  await addTotal(client, scope, 'users', users)
  if (await hasTable(client, 'gh_words_users')) await insertWords(client, firstId)
  if (orders > 0) await insertOrders(client, { scope, firstId, users, orders })
  await client.query('VACUUM ANALYZE')
}

async function addTotal(client: pg.Client, scope: string, collection: string, total: number) {
  await client.query(
    `INSERT INTO gh_counters (scope, collection, slot, total) VALUES ($1, $2, 0, $3)
     ON CONFLICT (scope, collection, slot) DO UPDATE
       SET total = gh_counters.total + excluded.total`,
    [scope, collection, total],
  )
}

async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS exists', [name])
  return rows[0].exists
}

const insertWords = (client: pg.Client, firstId: number) =>
  client.query(
    `INSERT INTO gh_words_users (scope, id, word)
     SELECT scope, id, word FROM users, unnest(string_to_array(lower(name), ' ')) AS word
     WHERE id >= $1`,
    [firstId],
  )

interface OrderFill {
  readonly scope: string
  readonly firstId: number
  readonly users: number
  readonly orders: number
}

/** The same orders as on SQLite. */
async function insertOrders(client: pg.Client, fill: OrderFill): Promise<void> {
  const { scope, firstId, users, orders } = fill
  const start = userOf(0, false).createdAt
  const stepMs = userOf(1, false).createdAt - start
  await client.query(
    `INSERT INTO orders (scope, user_id, amount, note, created_at)
     SELECT $1::bigint, $2::bigint + (n * 7919) % $3::bigint, 1 + n % 90000, 'order ' || n,
       $4::bigint + n * $5::bigint
     FROM generate_series(0, $6::bigint - 1) AS n`,
    [scope, firstId, users, start, stepMs, orders],
  )
  await addTotal(client, scope, 'orders', orders)
}
