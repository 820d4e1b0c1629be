/**
 * Two customers of one installation for row 21: `noisy` attacks, with 300,000 orders and events of
 * 250 kB, and 300 rows of 195 kB; `quiet` is measured. The API creates all data except the orders,
 * which SQL inserts.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { BENCH_KEY } from '../data.ts'
import type { DatabaseName } from '../database.ts'
import { gatehookCommand, startOnce } from '../gatehook-process.ts'
import { newDatabase } from '../postgres.ts'
import { type Server, startServer } from '../server.ts'

export interface World {
  /** The address of the database. */
  readonly url: string
  /** Starts the service on the prepared database. */
  start(): Promise<Server>
  /** Runs a command of Gatehook with the options of the service. Returns its exit code. */
  run(...words: readonly string[]): number | null
  /** Keys of the attacker and of the measured customer. */
  readonly noisyKeys: readonly string[]
  readonly quietKeys: readonly string[]
  /** A customer with a million orders, if the attack that deletes it is selected. */
  readonly leavingId: string
  /** A user of the measured customer, for orders, and the sign-in of a person. */
  readonly quietUserId: number
  readonly person: { readonly username: string; readonly password: string }
  end(): void
}

const ORDERS = 300_000
const LEAVING_ORDERS = 1_000_000
const KEYS = 40
const LARGE_EVENTS = 100
const LARGE_BYTES = 250_000
const SMALL_EVENTS = 20_000
/** Rows of 195 kB, all of one folder, and links to ten of them each. */
const LARGE_ROWS = 300
const LINKS = 100
/** High request limits, as an operator may set them. */
const GENEROUS = { limit: 1_000_000, window_s: 60 }
const PASSWORD = 'a rather long pass phrase'

/** Sends JSON; throws for a status that is not 2xx. */
export async function send(
  server: Pick<Server, 'url'>,
  key: string,
  method: string,
  path: string,
  body?: unknown,
) {
  const headers = { 'x-api-key': key, 'content-type': 'application/json', ...HTTPS }
  const answer = await fetch(server.url + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** Headers of a trusted proxy, so that the bench can name client addresses. */
export const HTTPS = { 'x-forwarded-proto': 'https' } as const

interface WorldOptions {
  /** Whether the customer that leaves has its orders. */
  readonly hasLeaving: boolean
  readonly progress: (line: string) => void
}

export async function openWorld(name: DatabaseName, { hasLeaving, progress }: WorldOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-beside-'))
  const file = join(folder, 'gatehook.db')
  const url = name === 'sqlite' ? `sqlite:${file}` : await newDatabase(undefined)
  const { args, env } = gatehookCommand(url, { service: 'large' })
  const command = {
    args,
    env: {
      ...env,
      // A server that exceeds its heap ends, and the row fails.
      NODE_OPTIONS: '--max-old-space-size=512',
      GATEHOOK_RATE_LIMIT: '1000/60', // as shipped
      GATEHOOK_SECRET_KEY: Buffer.alloc(32, 'bench').toString('hex'),
      GATEHOOK_TRUST_PROXY: '127.0.0.1',
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    },
  }
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const run = (...words: readonly string[]) =>
    spawnSync(process.execPath, [args[0]!, ...words], {
      env: { ...process.env, ...command.env },
      stdio: 'ignore',
    }).status
  const start = () => startServer(command, join(folder, 'log'), undefined)
  try {
    await startOnce(command, folder)
    const server = await start()
    progress(`${name}: prepares customers and keys`)
    const customers = await createCustomers(server)
    const { noisy, leaving } = customers
    for (const { id, userId, orders } of [
      { ...noisy, orders: ORDERS },
      { ...leaving, orders: hasLeaving ? LEAVING_ORDERS : 0 },
    ]) {
      progress(`${name}: prepares ${orders.toLocaleString('en')} orders`)
      if (name === 'sqlite') fillSqlite(file, fillText(id, userId, orders, 'sqlite'))
      else await fillPostgres(url, fillText(id, userId, orders, 'postgres'))
    }
    // The server has closed idle connections meanwhile: the process notices it before it uses them.
    await pause(1_000)
    progress(`${name}: prepares ${(SMALL_EVENTS + LARGE_EVENTS).toLocaleString('en')} events`)
    await recordEvents(server, customers.noisyKeys[0]!)
    progress(`${name}: prepares ${LARGE_ROWS} rows of 195 kB`)
    await createLargeRows(server, customers.noisyKeys[0]!)
    await server.end('SIGTERM')
    const { noisyKeys, quietKeys, quietUserId, person } = customers
    const own = { url, noisyKeys, quietKeys, quietUserId, person, leavingId: leaving.id }
    return { start, run, ...own, end: remove } satisfies World
  } catch (error) {
    remove()
    throw error
  }
}

async function createCustomers(server: Server) {
  const admin = (method: string, path: string, body?: unknown) =>
    send(server, BENCH_KEY, method, path, body)
  const scopes = ['users', 'orders', 'large', 'webhooks', 'events'].flatMap((name) => [
    `${name}:read`,
    `${name}:write`,
  ])
  const customer = async (name: string) => {
    const { id } = await admin('POST', '/admin/customers', { name })
    const limits = { rate_limit: GENEROUS, total_rate_limit: GENEROUS }
    await admin('PATCH', `/admin/customers/${id}`, { limits })
    const keys: string[] = []
    for (let n = 0; n < KEYS; n++) {
      const { key } = await admin('POST', '/admin/keys', { name: `${n}`, scopes, customer: id })
      keys.push(key)
    }
    const user = { name: 'Ada', email: `${name}@example.com` }
    const { id: userId } = await send(server, keys[0]!, 'POST', '/api/v2/users', user)
    return { id: id as string, keys, userId: userId as number }
  }
  const noisy = await customer('noisy')
  const quiet = await customer('quiet')
  const leaving = await customer('leaving')
  const username = 'person@example.com'
  const person = { name: 'Person', email: username, password: PASSWORD, customer: quiet.id }
  await admin('POST', '/admin/users', person)
  return {
    noisyKeys: noisy.keys,
    noisy,
    leaving,
    quietKeys: quiet.keys,
    quietUserId: quiet.userId,
    person: { username, password: PASSWORD },
  }
}

const COLUMNS = 'scope, user_id, status, amount, currency, note, created_at, updated_at'
/** `n` is the number of the row. No index covers the sort keys of the attack. */
const VALUES = `2 * c.no + 1, $user, 'pending', 1 + (n * 7919) % 100000, 'EUR',
  'note ' || (n * 104729) % 1000, 1700000000000 + n, 1700000000000 + n`

/** Returns the statements that insert orders of a customer and their counter. */
function fillText(customer: string, user: number, orders: number, database: DatabaseName): string {
  const numbers =
    database === 'sqlite'
      ? `(WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted
          WHERE n < ${orders}) SELECT n FROM counted) AS numbers`
      : `generate_series(1, ${orders}::bigint) AS n`
  const text = `INSERT INTO orders (${COLUMNS}) SELECT ${VALUES} FROM ${numbers}, gh_customers c
      WHERE c.id = $customer;
    INSERT INTO gh_counters (scope, collection, slot, total)
      SELECT 2 * no + 1, 'orders', 0, ${orders} FROM gh_customers WHERE id = $customer`
  return orders === 0
    ? 'SELECT 1'
    : text.replaceAll('$customer', `'${customer}'`).replaceAll('$user', String(user))
}

function fillSqlite(file: string, text: string): void {
  const db = new DatabaseSync(file)
  db.exec(text)
  db.close()
}

async function fillPostgres(url: string, text: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(text)
  await client.query('VACUUM ANALYZE')
  await client.end()
}

async function recordEvents(server: Server, key: string): Promise<void> {
  const record = (object: unknown) =>
    send(server, key, 'POST', '/events', { type: 'payment.succeeded', object })
  const many = async (count: number, object: (n: number) => unknown) => {
    let next = 0
    const worker = async () => {
      while (next < count) await record(object(next++))
    }
    await Promise.all(Array.from({ length: 16 }, worker))
  }
  await many(SMALL_EVENTS, (id) => ({ id }))
  const text = 'x'.repeat(LARGE_BYTES)
  await many(LARGE_EVENTS, (id) => ({ id, text }))
}

async function createLargeRows(server: Server, key: string): Promise<void> {
  const folder = await send(server, key, 'POST', '/api/v2/folders', { name: 'large' })
  const text = { text: 'y'.repeat(65_000) }
  const row = { folder_id: folder.id, a: text, b: text, c: text }
  for (let n = 0; n < LARGE_ROWS; n += 5) {
    await send(server, key, 'POST', '/api/v2/texts/batch', { items: Array(5).fill(row) })
  }
  const linkTo = (first: number) =>
    Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`r${at}_id`, first + at]))
  const items = Array.from({ length: LINKS }, (_, n) => linkTo(1 + ((n * 3) % (LARGE_ROWS - 9))))
  await send(server, key, 'POST', '/api/v2/links/batch', { items })
}
