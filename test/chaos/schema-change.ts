/**
 * A change of the declaration under load, with real processes on one PostgreSQL: two nodes serve
 * the previous declaration while a third one brings a new field with a filter and a sort. Another
 * program leaves transactions open, and the new node is killed while it creates the index.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { ended, MAIN, type Node } from './kill.ts'

export interface SchemaChangeOptions {
  /** An empty PostgreSQL database. */
  readonly databaseUrl: string
  /** Becomes the first admin key of the empty database. */
  readonly key: string
  /** An empty folder for the declarations. */
  readonly folder: string
  readonly rows: number
  /** How long the load runs before the change, to measure its latency. */
  readonly quietMs: number
}

export interface SchemaChangeResult {
  readonly rows: number
  readonly requests: number
  /** Requests without a 2xx response. */
  readonly failed: number
  readonly quietP95Ms: number
  readonly changeP95Ms: number
  /** From the start of the new node to the index. */
  readonly changeMs: number
}

const GATEHOOK = JSON.stringify(
  new URL('../../packages/gatehook/src/gatehook.ts', import.meta.url).href,
)

const declaration = (fields: string, names: string) => `
import { f, resource, service } from ${GATEHOOK}
const notes = resource('notes', {
  fields: { id: f.id(), text: f.string(), ${fields} },
  list: { filter: ['id', ${names}], sort: ['id', ${names}] },
  access: { read: 'r', create: 'w', update: 'w', delete: false },
  events: [],
})
export default service({
  name: 'notes',
  versions: { v1: { released: '2026-01-01' } },
  resources: [notes],
})
`

const BEFORE = declaration('', '')
const AFTER = declaration('size: f.int().default(0)', "'size'")

async function startNode(
  { databaseUrl, key, folder }: SchemaChangeOptions,
  text: string,
  onLine: (line: string) => void = () => {},
): Promise<Node> {
  const directory = join(folder, text === BEFORE ? 'before' : 'after')
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, 'service.ts'), text)
  const child = spawn(process.execPath, [MAIN, 'start', directory, '--port', '0', '--no-seed'], {
    env: {
      PATH: process.env.PATH ?? '',
      GATEHOOK_DATABASE_URL: databaseUrl,
      GATEHOOK_BOOTSTRAP_KEY: key,
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
      GATEHOOK_RATE_LIMIT: '0',
      GATEHOOK_DRAIN_DELAY_S: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('a node ended before it listened')))
    createInterface({ input: child.stdout! }).on('line', (json) => {
      const line = JSON.parse(json)
      onLine(String(line.msg))
      if (line.msg === 'listening') resolve({ child, url: String(line.url) })
    })
  })
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  child.kill(signal)
  await ended(child)
}

interface Sample {
  readonly ms: number
  readonly isSuccess: boolean
}

/** Sends reads and writes to the nodes until `stop`, four at a time to each. */
function sendLoad(nodes: readonly Node[], key: string) {
  const samples: Sample[] = []
  let isRunning = true
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const body = JSON.stringify({ text: 'a note' })
  const send = async (url: string, method: string) => {
    const startedMs = performance.now()
    const init = method === 'GET' ? { headers } : { method, headers, body }
    const isSuccess = await fetch(url, init).then(
      async (response) => {
        await response.arrayBuffer()
        return response.ok
      },
      () => false,
    )
    samples.push({ ms: performance.now() - startedMs, isSuccess })
  }
  const worker = async (url: string, at: number) => {
    for (let n = at; isRunning; n++) {
      const path = `${url}/api/v1/notes`
      const id = (n % 50) + 1
      await send(`${path}/${id}`, 'GET')
      await send(`${path}?limit=20`, 'GET')
      await send(path, 'POST')
      await send(`${path}/${id}`, 'PATCH')
    }
  }
  const workers = nodes.flatMap(({ url }) => [0, 1, 2, 3].map((at) => worker(url, at * 7)))
  return {
    samples,
    async stop() {
      isRunning = false
      await Promise.all(workers)
    },
  }
}

const TAIL = 0.95

/** Returns the 95th percentile in ms. */
function p95(samples: readonly Sample[]): number {
  const sorted = samples.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return Math.round((sorted[Math.floor(sorted.length * TAIL)] ?? 0) * 10) / 10
}

/** Opens a transaction of another program, and returns the function that ends it. */
async function holdTransaction(databaseUrl: string, text: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'report' })
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query(text)
  return () => client.end()
}

async function query(databaseUrl: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Polls, because index builds of another process have no other signal. */
async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await pause(50)
}

export async function changeUnderLoad(options: SchemaChangeOptions): Promise<SchemaChangeResult> {
  const { databaseUrl, key, rows, quietMs } = options
  const nodes: Node[] = []
  const start = async (text: string, onLine?: (line: string) => void) => {
    const node = await startNode(options, text, onLine)
    nodes.push(node)
    return node
  }
  try {
    const served = [await start(BEFORE), await start(BEFORE)]
    await query(
      databaseUrl,
      `INSERT INTO notes (scope, text) SELECT s.scope, 'note ' || n
       FROM generate_series(1, ${rows}) AS n,
         (SELECT 2 * min(no) + 1 AS scope FROM gh_customers) AS s`,
    )
    await query(databaseUrl, 'VACUUM ANALYZE notes')
    const load = sendLoad(served, key)
    await until(async () => load.samples.length > 200)
    await pause(quietMs)
    const quietCount = load.samples.length
    const changeMs = await changeAndKill(options, start)
    // The previous declaration starts again beside the new one.
    await start(BEFORE)
    await load.stop()
    const quiet = load.samples.slice(0, quietCount)
    return {
      rows,
      requests: load.samples.length,
      failed: load.samples.filter(({ isSuccess }) => !isSuccess).length,
      quietP95Ms: p95(quiet),
      changeP95Ms: p95(load.samples.slice(quietCount)),
      changeMs,
    }
  } finally {
    await Promise.all(nodes.map(({ child }) => stop(child)))
  }
}

/** Starts the new declaration, kills its node during the build, and waits for the index. */
async function changeAndKill(
  { databaseUrl, key }: SchemaChangeOptions,
  start: (text: string, onLine?: (line: string) => void) => Promise<Node>,
): Promise<number> {
  const startedMs = performance.now()
  const endReport = await holdTransaction(databaseUrl, 'SELECT * FROM notes LIMIT 1')
  // An index waits for the end of all older snapshots; adding a column does not.
  const endSnapshot = await holdTransaction(databaseUrl, 'SELECT * FROM gh_settings LIMIT 1')
  let isReportOpen = true
  const onLine = (line: string) => {
    if (!isReportOpen || !line.includes('waits for a lock')) return
    isReportOpen = false
    void endReport()
  }
  const killed = await start(AFTER, onLine)
  if (isReportOpen) throw new Error('the new column did not wait for the open transaction')
  const isWaiting = `SELECT 1 FROM pg_stat_progress_create_index
    WHERE datname = current_database() AND phase = 'waiting for old snapshots'`
  await until(async () => (await query(databaseUrl, isWaiting)).length > 0)
  await stop(killed.child, 'SIGKILL')
  const next = await start(AFTER)
  await endSnapshot()
  const isValid = `SELECT 1 FROM pg_index
    WHERE indexrelid = to_regclass('notes_by_size') AND indisvalid`
  await until(async () => (await query(databaseUrl, isValid)).length > 0)
  const changeMs = Math.round(performance.now() - startedMs)
  const sorted = `${next.url}/api/v1/notes?sort=size&limit=5`
  await until(async () => (await fetch(sorted, { headers: { 'x-api-key': key } })).ok)
  return changeMs
}
