/** Damaged pages, full disks, a database or a table that is away. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { Kind } from '../rig/databases.ts'
import { asAdmin, queryAsAdmin } from '../rig/postgres.ts'
import { canMount, databaseOn, mountSmallDisk } from '../rig/small-disk.ts'
import { fileOf } from './books.ts'
import { getFrom } from './node-requests.ts'
import { EXIT } from './primary-faults.ts'
import type { ChaosContext, ChaosScenario } from './scenario.ts'
import { auditFault, needHaproxy, type OperatorFaults, withDatabase } from './under-load.ts'

const DISK_MIB = 64
const AWAY_MS = 8_000

interface Page {
  readonly file: string
  readonly offset: number
  readonly size: number
}

/** Finds a page of the table that each payment changes. No process has the file open. */
function findSqlitePage(url: string): Page {
  const file = fileOf(url)
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const row = db.prepare("SELECT pageno, pgsize FROM dbstat WHERE name = 'wallets'").get()
  db.close()
  const { pageno, pgsize } = row as { pageno: number; pgsize: number }
  return { file, offset: (pageno - 1) * pgsize, size: pgsize }
}

async function findPostgresPage(url: string): Promise<Page> {
  const query =
    "SELECT current_setting('data_directory') AS folder, pg_relation_filepath('wallets')"
  const [row] = await queryAsAdmin(url, query)
  return { file: join(row!.folder, row!.pg_relation_filepath), offset: 0, size: 8_192 }
}

/** Overwrites a page, and returns the function that restores it. */
function damage({ file, offset, size }: Page): () => void {
  const content = Buffer.alloc(size)
  const write = (bytes: Buffer) => {
    const handle = openSync(file, 'r+')
    if (bytes !== content) readSync(handle, content, 0, size, offset)
    writeSync(handle, bytes, 0, size, offset)
    closeSync(handle)
  }
  write(Buffer.alloc(size, 0xa5))
  return () => write(content)
}

/** Damages a page while nothing runs; repairs it after the product has named it. */
const damagePage = (kind: Kind) => (context: ChaosContext) =>
  withDatabase(kind, context, (databaseUrl, server) => {
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    return auditFault(context, world, async ({ load, cluster, key, witness, expect, report }) => {
      /** Runs while neither node nor server has the file open. */
      const whileEnded = async (change: () => void) => {
        for (const at of cluster.nodes.keys()) await cluster.end(at, 'SIGKILL')
        await server?.halt('fast')
        change()
        await server?.start()
        for (const at of cluster.nodes.keys()) await cluster.replace(at)
      }
      load.markFault()
      const page = server ? await findPostgresPage(databaseUrl) : undefined
      let repair = () => {}
      await whileEnded(() => {
        repair = damage(page ?? findSqlitePage(databaseUrl))
      })
      report('a page is damaged')
      load.markFault()
      await witness.until(/readyz 503: database: .*damaged/)
      await witness.until(/log of node\d: .*damaged/)
      await witness.until(/attention: bad node_not_ready.*damaged/)
      await witness.until(/system: .*damaged/)
      for (const { url } of cluster.nodes) {
        const { status } = await getFrom(`${url}/api/v1/wallets`, { 'x-api-key': key })
        expect(status === 503, `a list of the damaged table is ${status}`)
      }
      const isRunning = cluster.nodes.every(({ child }) => child.exitCode === null)
      expect(isRunning, 'a damaged page ends a node')
      const doctor = await cluster.run(['doctor', '--deep'])
      expect(doctor.exit === 1, 'doctor finds no damaged page')
      await whileEnded(repair)
      await load.recovery()
    })
  })

/** Fills the disk of the tables, and frees it after the product has named it. */
const fillDisk = (kind: Kind) => async (context: ChaosContext) => {
  const disk = await mountSmallDisk(DISK_MIB)
  const { url, stop } = await databaseOn(kind, disk.folder)
  try {
    const world = { databaseUrl: url, booksUrl: () => url }
    return await auditFault(context, world, async ({ load, cluster, witness, expect }) => {
      load.markFault()
      await disk.fill()
      await witness.until(/readyz 503: writes: The disk/)
      if (kind === 'sqlite') {
        const { output } = await cluster.run(['doctor']) // the disk of a server is elsewhere
        expect(/^disk +warn +0 % free/m.test(output), `doctor says ${output}`)
      }
      await witness.until(/attention: bad node_not_ready.*disk/)
      await witness.until(/system: .*disk/)
      const before = load.succeeded
      await pause(AWAY_MS / 4)
      expect(load.succeeded.GET > before.GET, 'reads do not go on')
      await disk.free()
      await load.recovery()
    })
  } finally {
    await stop()
    await disk.unmount()
  }
}

/** A start beside a lost table would create an empty one. */
async function startBeside({ cluster, expect }: OperatorFaults) {
  await cluster.end(0, 'SIGKILL')
  const { exit } = await cluster.startRefused(0)
  expect(exit === EXIT.configuration, `a start beside a lost table ends with ${exit}`)
  expect((await cluster.run(['doctor'])).exit === 1, 'doctor finds no lost table')
}

/**
 * An operator renames the database, or a table beside which a node starts, under running nodes; and
 * takes it back.
 */
const takeAway =
  (change: (name: string) => readonly [away: string, back: string, table: boolean]) =>
  async (context: ChaosContext) =>
    withDatabase('postgres', context, async (databaseUrl, server) => {
      const world = { databaseUrl, booksUrl: () => databaseUrl }
      return auditFault(context, world, async (faults) => {
        const { load, cluster, witness } = faults
        const [away, back, isTable] = change(new URL(databaseUrl).pathname.slice(1))
        const admin = server!.url
        load.markFault()
        await asAdmin(isTable ? databaseUrl : admin, away)
        await witness.until(/readyz 503/)
        await pause(AWAY_MS)
        if (isTable) await startBeside(faults)
        await asAdmin(isTable ? databaseUrl : admin, back)
        if (isTable) await cluster.replace(0)
        await load.recovery()
      })
    })

const renameTable = takeAway(() => [
  'ALTER TABLE payments RENAME TO payments_away',
  'ALTER TABLE payments_away RENAME TO payments',
  true,
])

const dropDatabase = takeAway((name) => [
  `ALTER DATABASE ${name} ALLOW_CONNECTIONS false;
   SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}';`,
  `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`,
  false,
])

const needDisk = () => needHaproxy() ?? (canMount() ? undefined : 'mounting a disk needs root')

const ofKind = (kind: Kind): ChaosScenario[] => [
  {
    name: `damaged-page-${kind}`,
    title: 'a page of the database is damaged',
    groups: kind === 'sqlite' ? ['operate', 'drill'] : ['operate'],
    nodes: [kind === 'sqlite' ? 1 : 2],
    words: [
      /readyz 503: database: .*damaged/,
      /POST 503: storage_unavailable: .*damaged/,
      /log of node\d: .*damaged/,
      /attention: bad node_not_ready.*damaged/,
      /system: .*damaged/,
      /gatehook doctor --deep, exit 1: pages +fail +.*damaged/,
    ],
    missing: needHaproxy,
    run: damagePage(kind),
  },
  {
    name: `full-disk-${kind}`,
    title: 'the disk of the tables is full',
    groups: kind === 'sqlite' ? ['operate', 'drill'] : ['operate'],
    nodes: [kind === 'sqlite' ? 1 : 2],
    words: [
      /readyz 503: writes: The disk of the database is full/,
      /POST 503: storage_unavailable/,
      /check_failed\{.*writes/,
      /attention: bad node_not_ready.*disk/,
      /system: .*disk/,
    ],
    missing: needDisk,
    run: fillDisk(kind),
  },
]

export const storageFaults: readonly ChaosScenario[] = [
  ...ofKind('sqlite'),
  ...ofKind('postgres'),
  {
    name: 'table-away',
    title: 'a table is renamed under running nodes, a node starts, and it is renamed back',
    groups: ['operate'],
    nodes: [2],
    words: [
      /readyz 503: schema/,
      /(POST|GET) 503: storage_unavailable/,
      /log of node\d: .*lacks/,
      /gatehook start, exit 78: The table payments of the service is missing/,
      /gatehook doctor, exit 1: migrations +fail +The table payments/,
    ],
    missing: needHaproxy,
    run: renameTable,
  },
  {
    name: 'database-away',
    title: 'the database accepts no connection, and does so again',
    groups: ['operate'],
    nodes: [2],
    words: [
      /readyz 503: primary/,
      /(POST|GET) 503: storage_unavailable/,
      /log of node\d: .*connections/,
    ],
    missing: needHaproxy,
    run: dropDatabase,
  },
]
