/** Connections and locks that other programs hold: of the server, of its pooler, of a table. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { startPgbouncer } from '../rig/pgbouncer.ts'
import { asAdmin, createDatabase, queryAsAdmin, startPostgres } from '../rig/postgres.ts'
import { needPooler } from './pair.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditFault,
  needHaproxy,
  requireNoFailure,
  requireShortWaits,
  SETTINGS,
  withDatabase,
} from './under-load.ts'

const HELD_MS = 15_000
const AWAY_MS = 8_000
/** Server connections of the pooler. */
const POOL_SIZE = 2
const LOCK_POOL_SIZE = 10
/** Connections of the server; three of them are for superusers. */
const CONNECTIONS = 60
const RETRY_MS = 20

const ROLE = 'limited'

/** Creates a database for a role that is no superuser; returns its addresses for both. */
async function createForRole(serverUrl: string) {
  const adminUrl = await createDatabase(serverUrl)
  const name = new URL(adminUrl).pathname.slice(1)
  await asAdmin(serverUrl, `CREATE ROLE ${ROLE} LOGIN PASSWORD '${ROLE}'`)
  await asAdmin(serverUrl, `ALTER DATABASE ${name} OWNER TO ${ROLE}`)
  const address = new URL(adminUrl)
  address.username = address.password = ROLE
  return { adminUrl, url: address.href }
}

/** Other programs that open as many connections as they get, until they are ended. */
function takeConnections(url: string, atOnce: number) {
  const clients = new Set<pg.Client>()
  let isRunning = true
  const take = async () => {
    while (isRunning) {
      const client = new pg.Client({ connectionString: url, application_name: 'other' })
      client.on('error', () => clients.delete(client))
      await client.connect().then(
        () => clients.add(client),
        () => pause(RETRY_MS),
      )
    }
  }
  const takers = Array.from({ length: atOnce }, take)
  return {
    count: () => clients.size,
    async end() {
      isRunning = false
      await Promise.all(takers)
      await Promise.all([...clients].map((client) => client.end().catch(() => undefined)))
    },
  }
}

/** Other programs take each connection of the server that the nodes lose. */
async function fillServer(context: ChaosContext): Promise<ChaosCounts> {
  const server = await startPostgres([...SETTINGS, `max_connections=${CONNECTIONS}`])
  try {
    const { url, adminUrl } = await createForRole(server.url)
    const world = { databaseUrl: url, booksUrl: () => adminUrl }
    const counts = await auditFault(context, world, async ({ load, report, expect }) => {
      // A connection of its own: the others leave none.
      const admin = new pg.Client(server.url)
      await admin.connect()
      load.markFault()
      const others = takeConnections(url, 4)
      const cut = `SELECT count(pg_terminate_backend(pid)) AS count FROM pg_stat_activity
        WHERE usename = '${ROLE}' AND application_name LIKE 'gatehook%'`
      const untilMs = performance.now() + HELD_MS
      let cutCount = 0
      while (performance.now() < untilMs) {
        cutCount += Number((await admin.query(cut)).rows[0].count)
        await pause(RETRY_MS)
      }
      expect(cutCount > 0, 'the nodes had no connection')
      report(`other programs hold ${others.count()} connections`)
      await others.end()
      await admin.end()
      await load.recovery()
    })
    return requireShortWaits(counts)
  } finally {
    await server.stop()
  }
}

/** Other programs hold each connection of the pooler in an open transaction. */
async function fillPooler(context: ChaosContext): Promise<ChaosCounts> {
  const server = await startPostgres(SETTINGS)
  const pooler = await startPgbouncer(server.url, POOL_SIZE)
  try {
    const url = await createDatabase(server.url)
    const pooledUrl = pooler.through(url)
    const environment = {
      GATEHOOK_DATABASE_POOLER: 'transaction',
      GATEHOOK_DATABASE_DIRECT_URL: url,
    }
    const world = { databaseUrl: pooledUrl, booksUrl: () => url, environment }
    const counts = await auditFault(context, world, async ({ load, report }) => {
      load.markFault()
      const others = Array.from({ length: POOL_SIZE }, () => new pg.Client(pooledUrl))
      for (const client of others) {
        await client.connect()
        await client.query('BEGIN')
      }
      report(`other programs hold all ${POOL_SIZE} connections of the pooler`)
      await pause(HELD_MS)
      for (const client of others) await client.end()
      await load.recovery()
    })
    return requireShortWaits(counts)
  } finally {
    await pooler.stop()
    await server.stop()
  }
}

/** The role of the nodes may open no further connection than those that are open. */
async function limitConnections(context: ChaosContext): Promise<ChaosCounts> {
  const server = await startPostgres(SETTINGS)
  try {
    const { url, adminUrl } = await createForRole(server.url)
    const world = { databaseUrl: url, booksUrl: () => adminUrl }
    const counts = await auditFault(context, world, async ({ load }) => {
      load.markFault()
      const count = `SELECT count(*) AS count FROM pg_stat_activity WHERE usename = '${ROLE}'`
      const [open] = await queryAsAdmin(server.url, count)
      await asAdmin(server.url, `ALTER ROLE ${ROLE} CONNECTION LIMIT ${open!.count}`)
      await pause(AWAY_MS)
      await load.recovery()
    })
    return requireNoFailure(counts)
  } finally {
    await server.stop()
  }
}

/** The program is named with its process. */
const NAMED = /attention: bad lock_held: report \(\d+\)/
const HELD_WORDS = [
  /(POST|GET) 503: storage_unavailable/,
  NAMED,
  /attention: \w+ server_errors.*a lock of another/,
  /readyz 200: locks: /,
  /metrics: gatehook_lock_holders 1/,
  /log of node\d: Session \d+ \(report, /,
]
const DOCTOR_WORD = /gatehook doctor, exit 1: locks +fail +Session \d+ \(report, /

/**
 * Another program holds a lock, for which the statements of a table wait. The operator ends the
 * process that attention names.
 */
const holdLock =
  (hold: string, isPooled = false) =>
  async (context: ChaosContext): Promise<ChaosCounts> =>
    requireShortWaits(
      await withDatabase('postgres', context, async (databaseUrl, server) => {
        const pooler = isPooled ? await startPgbouncer(server!.url, LOCK_POOL_SIZE) : undefined
        const environment = { GATEHOOK_DATABASE_POOLER: 'transaction' }
        const world = {
          databaseUrl: pooler?.through(databaseUrl) ?? databaseUrl,
          booksUrl: () => databaseUrl,
          ...(pooler && { environment }),
        }
        return auditFault(context, world, async ({ load, cluster, witness, expect }) => {
          const holder = new pg.Client({
            connectionString: databaseUrl,
            application_name: 'report',
          })
          holder.on('error', () => undefined) // an operator ends it
          await holder.connect()
          load.markFault()
          await holder.query(`BEGIN; ${hold}`)
          for (const word of HELD_WORDS) await witness.until(word)
          expect((await cluster.run(['doctor'])).exit === 1, 'doctor finds nothing')
          expect(witness.find(NAMED) !== undefined, 'attention names no session')
          const process = /\((\d+)\)/.exec(witness.find(NAMED)?.text ?? '')?.[1]
          await queryAsAdmin(databaseUrl, `SELECT pg_terminate_backend(${process ?? 0})`)
          await load.recovery()
        }).finally(() => pooler?.stop())
      }),
    )

const lockTable = (name: string) => `LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`

const scenario = (
  rest: Pick<ChaosScenario, 'name' | 'title' | 'words' | 'run'> & Partial<ChaosScenario>,
): ChaosScenario => ({ groups: ['operate'], nodes: [2], missing: needHaproxy, ...rest })

export const heldFaults: readonly ChaosScenario[] = [
  scenario({
    name: 'no-free-connection',
    title: 'the server has no connection left beside those that are open',
    run: limitConnections,
  }),
  scenario({
    name: 'full-server',
    title: 'other programs take all connections of the server, those of the nodes too',
    words: [
      /readyz 503: primary: The database has no connection left for this node/,
      /(POST|GET) 503: storage_unavailable/,
      /log of node\d: the database does not answer/,
      /metrics: gatehook_database_fault\{.*full.* 1/,
    ],
    run: fillServer,
  }),
  scenario({
    name: 'full-pooler',
    title: 'other programs hold all connections of the pooler',
    words: [
      /readyz 503: primary: The database answers, and its pooler does not serve this node/,
      /POST 503: storage_unavailable/,
      /log of node\d: the database does not answer/,
      /metrics: gatehook_database_fault\{.*pooler_stuck.* 1/,
    ],
    missing: needPooler,
    run: fillPooler,
  }),
  scenario({
    name: 'held-lock',
    title: 'another program holds a lock, for which writes wait',
    words: [...HELD_WORDS, DOCTOR_WORD],
    run: holdLock(lockTable('wallets')),
  }),
  scenario({
    name: 'held-lock-pooled',
    title: 'another program holds rows, in whose queues writes behind a pooler wait',
    words: [/POST 503: storage_unavailable/, /attention: \w+ server_errors.*a lock of another/],
    missing: needPooler,
    run: holdLock('SELECT id FROM wallets FOR UPDATE', true),
  }),
  scenario({
    name: 'held-table',
    title: 'another program holds a lock, for which reads and writes wait',
    words: [/GET 503: storage_unavailable/, ...HELD_WORDS, DOCTOR_WORD],
    run: holdLock(lockTable('payments')),
  }),
]
