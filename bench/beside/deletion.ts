/**
 * The deletion of a customer with a million orders and 200,000 events, to its end, beside a
 * neighbour: `node bench/beside/deletion.ts [sqlite|postgres]…`. Prints rate, p95 and memory. Exit
 * code 1: a word of the customer is found afterwards, a row of another customer has changed, or the
 * audit trail does not verify.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { BENCH_KEY } from '../data.ts'
import type { DatabaseName } from '../database.ts'
import { stopPostgres } from '../postgres.ts'
import type { Server } from '../server.ts'
import { measure, type Quality } from './main.ts'
import { warmUp } from './warm-up.ts'
import { HTTPS, openWorld, send, type World } from './world.ts'

const PART_S = 20
const EVENTS = 200_000
const WORD = 'kanary'
const FILE = /^sqlite:/
/** Tables of customers whose rows are compared. */
const COMPARED = ['orders', 'users', 'folders', 'texts', 'links', 'gh_events', 'gh_api_keys']

type Query = (text: string) => Promise<Iterable<unknown[]>>

/** Runs with a connection to the database, beside the service. */
async function withDatabase<T>(url: string, body: (query: Query) => Promise<T>): Promise<T> {
  if (FILE.test(url)) {
    const db = new DatabaseSync(url.replace(FILE, ''), { timeout: 60_000 })
    const query: Query = async (text) => {
      const statement = db.prepare(text)
      statement.setReturnArrays(true)
      return statement.all() as unknown as unknown[][]
    }
    return body(query).finally(() => db.close())
  }
  const client = new pg.Client(url)
  await client.connect()
  const query: Query = async (text) => (await client.query({ text, rowMode: 'array' })).rows
  return body(query).finally(() => client.end())
}

/** Writes the word into each order of the customer, and events with it. */
const addWords = ({ url, leavingId }: World) =>
  withDatabase(url, async (query) => {
    const scope = `(SELECT 2 * no + 1 FROM gh_customers WHERE id = '${leavingId}')`
    await query(`UPDATE orders SET note = '${WORD} ' || id WHERE scope = ${scope}`)
    const numbers = FILE.test(url)
      ? `(WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted
          WHERE n < ${EVENTS}) SELECT n FROM counted) AS numbers`
      : `generate_series(1, ${EVENTS}) AS n`
    const number = FILE.test(url) ? "printf('%012d', n)" : "lpad(n::text, 12, '0')"
    await query(`INSERT INTO gh_events (scope, id, type, shape, object, created)
      SELECT ${scope}, substr(e.id, 1, 14) || ${number}, e.type, e.shape,
        '{"text":"${WORD} ' || n || '"}', e.created
      FROM (SELECT * FROM gh_events WHERE collection IS NULL LIMIT 1) AS e, ${numbers}`)
    if (!FILE.test(url)) await query('VACUUM ANALYZE')
  })

/** Returns a digest of the rows of the customer that sends nothing meanwhile. */
const digestOthers = ({ url }: World) =>
  withDatabase(url, async (query) => {
    const hash = createHash('sha256')
    const scopes = "(SELECT 2 * no + 1 FROM gh_customers WHERE name = 'noisy')"
    for (const table of COMPARED) {
      const rows = await query(`SELECT * FROM ${table} WHERE scope IN ${scopes} ORDER BY id`)
      for (const row of rows) hash.update(JSON.stringify(row))
    }
    return hash.digest('hex')
  })

/** Returns where the word is: in files after VACUUM, or in tables. */
async function findWord({ url }: World): Promise<string[]> {
  const places: string[] = []
  if (FILE.test(url)) {
    const path = url.replace(FILE, '')
    for (const file of [path, `${path}.monitoring.db`]) {
      const db = new DatabaseSync(file)
      db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
      db.close()
      if (spawnSync('grep', ['-aciq', WORD, file]).status === 0) places.push(file)
    }
    return places
  }
  return withDatabase(url, async (query) => {
    const tables = await query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
    for (const [table] of tables) {
      const text = `SELECT 1 FROM "${table}" AS t WHERE t::text ILIKE '%${WORD}%' LIMIT 1`
      if ([...(await query(text))].length > 0) places.push(String(table))
    }
    return places
  })
}

async function readCustomer({ url }: Server, id: string) {
  const headers = { 'x-api-key': BENCH_KEY, ...HTTPS }
  const response = await fetch(`${url}/admin/customers/${id}`, { headers })
  const body = (await response.json()) as { readonly deleted_rows?: number }
  return { status: response.status, body }
}

/** Measures the neighbour part by part until the customer is deleted. */
async function deleteBeside(world: World, server: Server, progress: (line: string) => void) {
  const startMs = performance.now()
  const parts: Quality[] = []
  await send(server, BENCH_KEY, 'DELETE', `/admin/customers/${world.leavingId}`)
  for (;;) {
    parts.push(await measure(world, server, PART_S))
    const seconds = Math.round((performance.now() - startMs) / 1_000)
    const { status, body } = await readCustomer(server, world.leavingId)
    const { p95Ms } = parts.at(-1)!
    progress(`${seconds} s: ${body.deleted_rows} rows deleted, p95 ${p95Ms.toFixed(1)} ms`)
    if (status === 404) return { parts, seconds }
  }
}

async function run(database: DatabaseName): Promise<boolean> {
  const progress = (line: string) => console.error(`${database}: ${line}`)
  const world = await openWorld(database, { hasLeaving: true, progress })
  try {
    await addWords(world)
    const before = await digestOthers(world)
    const server = await world.start()
    await warmUp(world, server)
    const quiet = await measure(world, server, PART_S)
    const { parts, seconds } = await deleteBeside(world, server, progress)
    await server.end('SIGTERM')
    const isVerified = world.run('audit', 'verify') === 0
    const places = await findWord(world)
    const isUntouched = (await digestOthers(world)) === before
    const p95s = parts.map(({ p95Ms }) => p95Ms).toSorted((a, b) => a - b)
    const most = (figure: 'allocatedMb' | 'slowestLoginMs') =>
      Math.max(...parts.map((part) => part[figure]))
    console.table([
      {
        database,
        seconds,
        'rows/s': Math.round((1_000_000 + EVENTS) / seconds),
        'quiet p95 ms': quiet.p95Ms.toFixed(1),
        'median p95 ms': p95s[Math.floor(p95s.length / 2)]!.toFixed(1),
        'highest p95 ms': p95s.at(-1)!.toFixed(1),
        refused: parts.reduce((sum, { refused }) => sum + refused, 0),
        'slowest login ms': most('slowestLoginMs').toFixed(0),
        'memory MB': `${quiet.allocatedMb.toFixed(0)} → ${most('allocatedMb').toFixed(0)}`,
        'found in': places.join() || 'nothing',
        others: isUntouched ? 'untouched' : 'CHANGED',
        'audit trail': isVerified ? 'verified' : 'BROKEN',
      },
    ])
    return places.length === 0 && isUntouched && isVerified
  } finally {
    world.end()
  }
}

const names = process.argv.slice(2) as DatabaseName[]
let passed = true
for (const name of names.length > 0 ? names : (['sqlite', 'postgres'] as const)) {
  passed = (await run(name)) && passed
}
await stopPostgres()
process.exit(passed ? 0 : 1)
