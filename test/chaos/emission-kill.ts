/**
 * §17.2 under kill -9: applications add rows and emit events in one transaction, while the test
 * kills applications, nodes and the database server at random moments. Afterwards each committed
 * row has one event that was delivered, and no event lacks its row.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { type PostgresServer, startPostgres } from '../rig/postgres.ts'
import { ended, MAIN, type Node, openReceiver, seeded, startNode } from './kill.ts'

export interface EmissionKillOptions {
  readonly seed: number
  readonly rounds: number
  /** The applications: `psycopg` needs a Python with it. */
  readonly clients: readonly ('pg' | 'psycopg')[]
  readonly python?: string
}

export interface EmissionKillResult {
  readonly seed: number
  readonly rounds: number
  readonly kills: Readonly<Record<'client' | 'node' | 'server', number>>
  /** Committed rows, and those whose commit a client saw. */
  readonly committed: number
  readonly acknowledged: number
  /** Rows without a delivered event, and acknowledged commits without a row. */
  readonly lost: number
  /** Events without a row, and rows with two events. */
  readonly phantom: number
  /** Arrivals beyond the first of each delivery, and the most that the kills can cause. */
  readonly doubled: number
  readonly inFlight: number
  readonly seconds: number
}

const SERVICE = `import { event, f, fields, service } from 'gatehook'
const paid = event('invoice.paid', fields({ id: f.string().max(60) }))
export const api = service({ name: 'Acme', versions: { v1: { released: '2026-06-01' } },
  resources: [], externalEvents: [{ event: paid, from: ['sql'] }] })
`
const TEAM = `CREATE ROLE gh_node LOGIN PASSWORD 'node';
  CREATE ROLE app_rw LOGIN PASSWORD 'app';
  CREATE SCHEMA gatehook AUTHORIZATION gh_node;
  CREATE SCHEMA app AUTHORIZATION app_rw;
  CREATE TABLE app.invoices (id text PRIMARY KEY);
  ALTER TABLE app.invoices OWNER TO app_rw`
const GRANT = ['--grant', 'app_rw', '--all-customers', '--mode', 'live']
const DELIVERED_WITHIN_MS = 180_000
const NODES = 2

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

function urlFor(server: PostgresServer, user: string, password: string): string {
  const url = new URL(server.url)
  url.username = user
  url.password = password
  return url.href
}

/** Runs a command to its end. Throws unless it exits with 0. */
async function run(args: readonly string[], env: Record<string, string>): Promise<void> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await ended(child)
  if (child.exitCode !== 0) throw new Error(`gatehook ${args.join(' ')}: ${child.exitCode}`)
}

/** Returns the rows of the team, and the invoice of each event. */
async function readBooks(server: PostgresServer) {
  const client = new pg.Client(server.url)
  await client.connect()
  try {
    const rows = await client.query('SELECT id FROM app.invoices')
    const events = await client.query('SELECT id, object FROM gatehook.gh_events')
    const invoices = new Map(events.rows.map(({ id, object }) => [id, JSON.parse(object).id]))
    return { committed: new Set<string>(rows.rows.map(({ id }) => id)), invoices }
  } finally {
    await client.end()
  }
}

/** Applications that run, each under a new prefix after a kill. */
function openClients({ clients, python = 'python3' }: EmissionKillOptions, url: string) {
  const acknowledged = new Set<string>()
  let starts = 0
  const start = (kind: 'pg' | 'psycopg'): ChildProcess => {
    const args = [url, `${kind}-${++starts}`]
    const child =
      kind === 'pg'
        ? spawn(process.execPath, [fileOf('emitters/pg-client.mjs'), ...args])
        : spawn(python, [fileOf('emitters/psycopg_client.py'), ...args])
    child.stderr!.on('data', (text) => process.stderr.write(text))
    createInterface({ input: child.stdout! }).on('line', (id) => acknowledged.add(id))
    return child
  }
  const running = clients.map((kind) => ({ kind, child: start(kind) }))
  const stop = async (child: ChildProcess) => {
    child.kill('SIGKILL')
    await ended(child)
  }
  return {
    acknowledged,
    async kill(at: number) {
      const client = running[at % running.length]!
      await stop(client.child)
      client.child = start(client.kind)
    },
    stop: () => Promise.all(running.map(({ child }) => stop(child))),
  }
}

type StartNode = () => Promise<Node>

/** Nodes that run; one that ends at its start, without a database, is started again. */
async function openNodes(start: StartNode) {
  let isOver = false
  const restart = async (): Promise<Node | undefined> => {
    while (!isOver) {
      const node = await start().catch(() => undefined)
      if (node) return node
      await pause(100)
    }
    return undefined
  }
  const nodes = await Promise.all(Array.from({ length: NODES }, start))
  const running: Promise<Node | undefined>[] = nodes.map((node) => Promise.resolve(node))
  return {
    url: nodes[0]!.url,
    async kill(at: number) {
      const child = (await running[at])!.child
      child.kill('SIGKILL')
      await ended(child)
      running[at] = restart()
    },
    async stop() {
      await Promise.all(running)
      isOver = true
      for (const node of await Promise.all(running)) node?.child.kill('SIGTERM')
      for (const node of await Promise.all(running)) if (node) await ended(node.child)
    },
  }
}

async function register(url: string, key: string, receiver: string): Promise<void> {
  const response = await fetch(`${url}/webhooks`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `${receiver}/0`, events: ['invoice.paid'] }),
  })
  if (response.status !== 201) throw new Error(`no registration: ${await response.text()}`)
}

/** Runs the rounds and returns the counts. `report` receives a line after some rounds. */
export async function killWhileEmitting(
  options: EmissionKillOptions,
  report: (line: string) => void = () => {},
): Promise<EmissionKillResult> {
  const { seed, rounds } = options
  const random = seeded(seed)
  const startMs = performance.now()
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-emit-'))
  await writeFile(join(folder, 'service.ts'), SERVICE)
  // A commit waits for the operating system, which outlives each killed process.
  const server = await startPostgres(['fsync=off'])
  const admin = new pg.Client(server.url)
  await admin.connect()
  await admin.query(TEAM)
  await admin.end()
  const key = generateApiKey(systemRandom(), 'live')
  const databaseUrl = urlFor(server, 'gh_node', 'node')
  const env = { GATEHOOK_DATABASE_SCHEMA: 'gatehook' }
  const all = {
    ...env,
    GATEHOOK_DATABASE_URL: databaseUrl,
    GATEHOOK_BOOTSTRAP_KEY: key,
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
  }
  await run(['migrate', '--dir', folder], all)
  await run(['outbox', 'install', '--dir', folder, ...GRANT], all)
  const receiver = await openReceiver(random)
  const nodes = await openNodes(() => startNode({ databaseUrl, key, folder, env }))
  await register(nodes.url, key, receiver.url)
  const clients = openClients(options, urlFor(server, 'app_rw', 'app'))
  const kills = { client: 0, node: 0, server: 0 }
  let inFlight = 0
  for (let round = 1; round <= rounds; round++) {
    await pause(50 + random() * 400)
    const target = (['client', 'node', 'server'] as const)[Math.floor(random() * 3)]!
    kills[target] += 1
    const at = Math.floor(random() * NODES)
    if (target === 'client') await clients.kill(at)
    else inFlight += receiver.countAtRisk(target === 'server' ? 'server' : 'process')
    if (target === 'node') await nodes.kill(at)
    if (target === 'server') {
      await server.halt('immediate')
      await pause(random() * 200)
      await server.start()
    }
    if (round % 25 === 0) report(`round ${round}: ${clients.acknowledged.size} commits`)
  }
  await clients.stop()
  const untilMs = performance.now() + DELIVERED_WITHIN_MS
  const judge = async () => {
    const { committed, invoices } = await readBooks(server)
    const arrived = [...receiver.delivered.keys()].map((id) => invoices.get(id))
    const delivered = new Set(arrived)
    const missing = [...committed].filter((id) => !delivered.has(id)).length
    const forgotten = [...clients.acknowledged].filter((id) => !committed.has(id)).length
    const without = [...invoices.values()].filter((id) => !committed.has(id)).length
    const twice = invoices.size - new Set(invoices.values()).size
    const unknown = arrived.filter((id) => id === undefined).length
    return { committed, lost: missing + forgotten, phantom: without + twice + unknown }
  }
  let books = await judge()
  while (books.lost > 0 && performance.now() < untilMs) {
    await pause(250)
    books = await judge()
  }
  await nodes.stop()
  receiver.close()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
  let doubled = 0
  for (const count of receiver.arrivals.values()) doubled += count - 1
  return {
    seed,
    rounds,
    kills,
    committed: books.committed.size,
    acknowledged: clients.acknowledged.size,
    lost: books.lost,
    phantom: books.phantom,
    doubled,
    inFlight,
    seconds: Math.round((performance.now() - startMs) / 1000),
  }
}
