/** Faults between nodes and PostgreSQL: restarts, cut connections, a full disk, PgBouncer. */
import { setTimeout as pause } from 'node:timers/promises'
import { openCuttableLink } from '../rig/cuttable-link.ts'
import { hasPgbouncer, startPgbouncer } from '../rig/pgbouncer.ts'
import {
  createDatabase,
  type PostgresServer,
  queryAsAdmin,
  startPostgres,
} from '../rig/postgres.ts'
import { canMount, mountSmallDisk } from '../rig/small-disk.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditUnderLoad,
  type Faults,
  needHaproxy,
  runUnderLoad,
  SETTINGS,
  verifyAudit,
} from './under-load.ts'

const RESTARTS = 5
const CUTS = 24
const POOLER_RESTARTS = 4
const POOL_SIZE = 10
const DISK_MIB = 256
const FULL_MS = 6_000

async function restartServer({ load, random, report }: Faults, server: PostgresServer) {
  for (let restart = 1; restart <= RESTARTS; restart++) {
    await pause(1_500 + random() * 1_500)
    const mode = restart % 2 === 0 ? 'fast' : 'immediate'
    load.markFault()
    await server.halt(mode)
    await pause(random() * 1_000)
    await server.start()
    report(`PostgreSQL restarted (${mode}), ${restart} of ${RESTARTS}`)
  }
}

/** Cuts connections in the network, which may leave a commit uncertain, and at the server. */
async function cutConnections(context: ChaosContext): Promise<ChaosCounts> {
  const server = await startPostgres(SETTINGS)
  const link = await openCuttableLink(server.url)
  try {
    const booksUrl = await createDatabase(server.url)
    const world = { databaseUrl: link.through(booksUrl), booksUrl: () => booksUrl }
    const terminate = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
      WHERE datname = '${new URL(booksUrl).pathname.slice(1)}' AND pid <> pg_backend_pid()`
    const audit = await auditUnderLoad(context, world, async ({ load, random, report }) => {
      for (let cut = 1; cut <= CUTS; cut++) {
        await pause(300 + random() * 700)
        load.markFault()
        if (cut % 4 === 0) await queryAsAdmin(server.url, terminate)
        else link.cut()
        if (cut % 8 === 0) report(`${cut} of ${CUTS} cuts`)
      }
    })
    return verifyAudit(audit)
  } finally {
    await link.close()
    await server.stop()
  }
}

/** Fills the disk of PostgreSQL for seconds. The server may crash, and needs a start then. */
async function fillDisk(context: ChaosContext): Promise<ChaosCounts> {
  const disk = await mountSmallDisk(DISK_MIB)
  let server: PostgresServer | undefined
  try {
    const sizes = ['max_wal_size=64MB', 'min_wal_size=32MB']
    server = await startPostgres([...SETTINGS, ...sizes], disk.folder)
    const own = server
    const databaseUrl = await createDatabase(own.url)
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    const audit = await auditUnderLoad(context, world, async ({ load, witness, report }) => {
      load.markFault()
      await disk.fill()
      report('the disk is full')
      await witness.until(FULL_DISK)
      // A new segment of the log needs 16 MiB, which the disk lacks: the server stops with PANIC.
      await queryAsAdmin(own.url, 'SELECT pg_switch_wal()').catch(() => undefined)
      await pause(FULL_MS)
      await disk.free()
      report(`the disk has space again, the server ${own.isRunning() ? 'runs' : 'has ended'}`)
      if (!own.isRunning()) await own.start()
      await pause(FULL_MS)
    })
    return verifyAudit(audit)
  } finally {
    await server?.stop()
    await disk.unmount()
  }
}

async function restartPooler(context: ChaosContext): Promise<ChaosCounts> {
  const server = await startPostgres(SETTINGS)
  const pooler = await startPgbouncer(server.url, POOL_SIZE)
  try {
    const url = await createDatabase(server.url)
    const environment = {
      GATEHOOK_DATABASE_POOLER: 'transaction',
      GATEHOOK_DATABASE_DIRECT_URL: url,
    }
    const world = { databaseUrl: pooler.through(url), booksUrl: () => url, environment }
    const audit = await auditUnderLoad(context, world, async ({ load, report }) => {
      for (let restart = 1; restart <= POOLER_RESTARTS; restart++) {
        await pause(2_500)
        load.markFault()
        await pooler.restart()
        report(`PgBouncer restarted, ${restart} of ${POOLER_RESTARTS}`)
      }
    })
    return verifyAudit(audit)
  } finally {
    await pooler.stop()
    await server.stop()
  }
}

const FULL_DISK = /log of node\d: the disk of the database is full/

export const databaseFaults: readonly ChaosScenario[] = [
  {
    name: 'postgres',
    title: `restarts and crashes of PostgreSQL, ${RESTARTS} times`,
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [/readyz 503: primary/, /POST 503: storage_unavailable/],
    missing: needHaproxy,
    run: (context) => runUnderLoad(context, restartServer),
  },
  {
    name: 'connections',
    title: `all connections to PostgreSQL are cut, ${CUTS} times`,
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [/log of node\d: a connection to the database broke/],
    missing: needHaproxy,
    run: cutConnections,
  },
  {
    name: 'disk',
    title: `the disk of PostgreSQL is full for ${FULL_MS / 1_000} s`,
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [FULL_DISK, /POST 503: storage_unavailable/],
    missing: () => needHaproxy() ?? (canMount() ? undefined : 'mounting a disk needs root'),
    run: fillDisk,
  },
  {
    name: 'pgbouncer',
    title: `kill -9 of PgBouncer, ${POOLER_RESTARTS} times`,
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [/POST 503: storage_unavailable/, /log of node\d: a connection to the database broke/],
    missing: () => needHaproxy() ?? (hasPgbouncer ? undefined : 'pgbouncer is not installed'),
    run: restartPooler,
  },
]
