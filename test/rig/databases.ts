/**
 * Fresh databases of both kinds. They are closed after the test and removed at the end of the file,
 * so that hooks of a test can still use them.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import type { Log } from '../../packages/gatehook/src/kernel/log.ts'
import type { Database } from '../../packages/gatehook/src/platform/storage/database.ts'
import { openDatabase } from '../../packages/gatehook/src/platform/storage/open.ts'
import { createDistributedDatabase, dropDistributedDatabase, hasCitus } from './citus.ts'
import { onEnd, onEndOfFile } from './cleanup.ts'
import { folderOfDatabases } from './memory.ts'
import { createDatabase, dropDatabase, type PostgresServer, startPostgres } from './postgres.ts'
import { createTemplateDatabase, createTemplateFile } from './templates.ts'

export type Kind = 'sqlite' | 'postgres'

export interface TestDatabase {
  readonly name: Kind
  /** Opens a database without tables. */
  open(t: TestContext): Promise<Database>
  /** Opens a database with the engine's tables. */
  openMigrated(t: TestContext): Promise<Database>
}

/** A log that discards every line. */
export const quietLog: Log = pino({ level: 'silent' })

export const databases: readonly TestDatabase[] = (['sqlite', 'postgres'] as const).map((name) => ({
  name,
  open: async (t) => openForTest(t, await freshUrl(t, name)),
  openMigrated: async (t) => openForTest(t, await migratedUrl(t, name)),
}))

type Body = (db: Database, t: TestContext) => Promise<void>

/** Defines the same test for both databases; each gets an empty one. */
export function eachDatabase(name: string, body: Body): void {
  for (const database of databases) {
    test(`${name} [${database.name}]`, async (t) => body(await database.open(t), t))
  }
}

/** Defines the same test for both databases; each gets one with the engine's tables. */
export function eachMigrated(name: string, body: Body): void {
  for (const database of databases) {
    test(`${name} [${database.name}]`, async (t) => body(await database.openMigrated(t), t))
  }
}

/** Creates an empty database and returns its URL. */
export async function freshUrl(_t: TestContext, kind: Kind): Promise<string> {
  return kind === 'sqlite' ? freshFile() : freshDatabase()
}

/** Creates an empty folder, removed at the end of the file. */
export const freshFolder = (): Promise<string> => folderIn(tmpdir())

async function folderIn(parent: string): Promise<string> {
  const folder = await mkdtemp(join(parent, 'gatehook-test-'))
  onEndOfFile(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Returns the address for a process that may wait for long inside of a transaction. */
function withoutIdleLimit(url: string): string {
  if (url.startsWith('sqlite:') || url.includes('options=')) return url
  const options = encodeURIComponent('-c idle_in_transaction_session_timeout=0')
  return `${url}${url.includes('?') ? '&' : '?'}options=${options}`
}

/** Opens a database and closes it after the test, which may hold a transaction for long. */
export async function openForTest(t: TestContext, url: string): Promise<Database> {
  const db = await openDatabase(withoutIdleLimit(url), { log: quietLog })
  onEnd(t, () => db.close())
  return db
}

/** SQLite syncs each commit, which costs nothing in memory. */
const freshFile = async (): Promise<string> =>
  `sqlite:${join(await folderIn(folderOfDatabases()), 'gatehook.db')}`

async function freshDatabase(template?: string): Promise<string> {
  if (hasCitus) {
    const url = await createDistributedDatabase()
    onEndOfFile(() => dropDistributedDatabase(url))
    return url
  }
  const server = await serverUrl()
  const url = await createDatabase(server, { template })
  onEndOfFile(() => dropDatabase(server, url))
  return url
}

let ownFile: Promise<string> | undefined
let ownDatabase: Promise<string> | undefined

/** Creates a database with the engine's tables, a copy of a template, and returns its URL. */
export async function migratedUrl(_t: TestContext, kind: Kind): Promise<string> {
  if (kind === 'postgres' && hasCitus) return freshDatabase()
  if (kind === 'postgres') {
    const shared = process.env.GATEHOOK_TEST_TEMPLATE_DATABASE
    ownDatabase ??= shared ? Promise.resolve(shared) : serverUrl().then(createTemplateDatabase)
    return freshDatabase(await ownDatabase)
  }
  const shared = process.env.GATEHOOK_TEST_TEMPLATE_FILE
  ownFile ??= shared ? Promise.resolve(shared) : freshFolder().then(createTemplateFile)
  const url = await freshFile()
  await copyFile(await ownFile, url.slice('sqlite:'.length))
  return url
}

/** Copies a database that no process uses, as a restore does, and returns the URL of the copy. */
export async function copyOf(url: string): Promise<string> {
  if (url.startsWith('postgres')) return freshDatabase(new URL(url).pathname.slice(1))
  const copy = await freshFile()
  await copyFile(url.slice('sqlite:'.length), copy.slice('sqlite:'.length))
  return copy
}

/** It ends after the databases on it are removed. */
async function startOwnServer(): Promise<PostgresServer> {
  const server = await startPostgres()
  onEndOfFile(() => server.stop())
  return server
}

let ownServer: Promise<PostgresServer> | undefined

/** Returns the server of the whole run; starts one for this process if there is none. */
async function serverUrl(): Promise<string> {
  const shared = process.env.GATEHOOK_TEST_POSTGRES
  if (shared) return shared
  ownServer ??= startOwnServer()
  return (await ownServer).url
}
