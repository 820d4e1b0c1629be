/**
 * Fresh databases of both kinds for tests; what is opened here is closed after the
 * test and removed at the end of the file, so that a test's own hooks still find it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { wallClock } from '../../packages/gatehook/src/kernel/clock.ts'
import type { Log } from '../../packages/gatehook/src/kernel/log.ts'
import type { Database } from '../../packages/gatehook/src/storage/database.ts'
import { migrateEngine } from '../../packages/gatehook/src/storage/migrate.ts'
import { openDatabase } from '../../packages/gatehook/src/storage/open.ts'
import { createDatabase, dropDatabase, type PostgresServer, startPostgres } from './postgres.ts'

export type Kind = 'sqlite' | 'postgres'

export interface TestDatabase {
  readonly name: Kind
  /** Empty: no table at all. */
  open(t: TestContext): Promise<Database>
  /** With the engine's tables. */
  openMigrated(t: TestContext): Promise<Database>
}

/** What is logged by databases under test; nothing below `fatal` is of interest. */
export const quietLog: Log = pino({ level: 'silent' })

export const databases: readonly TestDatabase[] = (['sqlite', 'postgres'] as const).map((name) => ({
  name,
  open: async (t) => openForTest(t, await freshUrl(t, name)),
  openMigrated: async (t) => openMigrated(t, name),
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

/** The address of an empty database nobody has used. */
export async function freshUrl(_t: TestContext, kind: Kind): Promise<string> {
  return kind === 'sqlite' ? freshFile() : freshDatabase()
}

/** An empty folder. */
export async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-test-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Opens an address for the length of a test. */
export async function openForTest(t: TestContext, url: string): Promise<Database> {
  const db = await openDatabase(url, { log: quietLog })
  t.after(() => db.close())
  return db
}

/** Migrating takes 25 ms; copying a migrated database takes PostgreSQL ten times as long. */
async function openMigrated(t: TestContext, kind: Kind): Promise<Database> {
  const db = await openForTest(t, await freshUrl(t, kind))
  await migrateEngine(db, { clock: wallClock })
  return db
}

const freshFile = async (): Promise<string> => `sqlite:${join(await freshFolder(), 'gatehook.db')}`

async function freshDatabase(): Promise<string> {
  const server = await serverUrl()
  const url = await createDatabase(server)
  atEnd(() => dropDatabase(server, url))
  return url
}

let own: Promise<PostgresServer> | undefined

/** The server of the whole run, or, where one file is run by hand, one for this process. */
async function serverUrl(): Promise<string> {
  const shared = process.env.GATEHOOK_TEST_POSTGRES
  if (shared) return shared
  own ??= startPostgres()
  return (await own).url
}

const endings: (() => Promise<void>)[] = []

const atEnd = (ending: () => Promise<void>): void => void endings.push(ending)

after(async () => {
  for (const ending of endings.reverse()) await ending()
  await (await own)?.stop()
})
