/** A primary that is frozen, unreachable, former, without a standby, or away at a start. */
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openCuttableLink } from '../rig/cuttable-link.ts'
import {
  createDatabase,
  type PostgresServer,
  queryAsAdmin,
  startPostgres,
} from '../rig/postgres.ts'
import { booksOf } from './books.ts'
import { needPooler, requireReplica, withPair, withPooledPair } from './pair.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditFault,
  auditUnderLoad,
  needHaproxy,
  type OperatorFaults,
  requireShortWaits,
  SETTINGS,
  verifyLoss,
} from './under-load.ts'

const SILENT_MS = 15_000
const AWAY_MS = 5_000
/** Status of a process that a later start may cure, and of one that the configuration prevents. */
export const EXIT = { later: 75, configuration: 78 } as const

const PROMOTE = 'SELECT pg_promote()'
const COUNT = 'SELECT count(*) AS count FROM payments'
const ID_SKIP = 1_000_000

const countPayments = async (url: string) => Number((await booksOf(url)(COUNT))[0]!.count)

const ON_CONSOLE = [/attention: bad node_not_ready.*primary/, /system: .*has not answered/]

/** Reads go on at the standby while the primary answers nothing. */
const freezePrimary = (context: ChaosContext): Promise<ChaosCounts> =>
  withPooledPair(async ({ primary, primaryUrl, pooledUrl, environment }) => {
    const world = { databaseUrl: pooledUrl, booksUrl: () => primaryUrl, environment }
    const counts = await auditFault(context, world, async ({ load, witness, expect, report }) => {
      load.markFault()
      const before = load.succeeded
      const resume = primary.freeze()
      await pause(SILENT_MS)
      for (const word of ON_CONSOLE) await witness.until(word) // reads at the standby
      expect(load.succeeded.GET > before.GET, 'no read succeeded at the standby')
      resume()
      report('the primary continues')
      await load.recovery()
    })
    return requireShortWaits(counts)
  })

/** The network loses all packets, and there is no standby. */
async function silenceNetwork(context: ChaosContext): Promise<ChaosCounts> {
  const server = await startPostgres(SETTINGS)
  const link = await openCuttableLink(server.url)
  try {
    const url = await createDatabase(server.url)
    const world = { databaseUrl: link.through(url), booksUrl: () => url }
    const counts = await auditFault(context, world, async ({ load }) => {
      load.markFault()
      const restore = link.silence()
      await pause(SILENT_MS)
      restore()
      await load.recovery()
    })
    return requireShortWaits(counts)
  } finally {
    await link.close()
    await server.stop()
  }
}

/** The former primary returns without a rewind, and the pooler still names it. */
const returnFormerPrimary = (context: ChaosContext): Promise<ChaosCounts> =>
  withPooledPair(async ({ primary, standby, primaryUrl, standbyUrl, pooler, ...pair }) => {
    const { pooledUrl: databaseUrl, environment } = pair
    const world = { databaseUrl, booksUrl: () => standbyUrl, environment }
    return auditFault(context, world, async ({ load, cluster, witness, expect, report }) => {
      load.markFault()
      await primary.halt('fast') // the standby gets every commit
      await queryAsAdmin(standby.url, PROMOTE)
      await primary.start()
      const count = await countPayments(primaryUrl)
      report('the former primary has returned behind the pooler')
      await witness.until(/former primary/)
      await cluster.end(0, 'SIGKILL')
      const { exit } = await cluster.startRefused(0)
      expect(exit === EXIT.later, `a start on a former primary ends with ${exit}`)
      expect((await countPayments(primaryUrl)) === count, 'the former primary has new rows')
      await pooler.pointTo(standbyUrl)
      await cluster.replace(0)
      report('the pooler names the new primary')
      await load.recovery()
      const [row] = await booksOf(standbyUrl)('SELECT max(id)::float8 AS id FROM payments')
      expect(Number(row!.id) < 2 * ID_SKIP, `ids reach ${row!.id}: more than one skip`)
    })
  })

const GUIDE = join(import.meta.dirname, '../../docs/guides/operations.md')

/** Runs the commands of the runbook, and returns the events that the new primary lacks. */
async function listLackingEvents(cwd: string, servers: { FORMER: string; PRIMARY: string }) {
  const [, runbook = ''] = readFileSync(GUIDE, 'utf8').split('### Two servers are primaries')
  const [, commands = ''] = runbook.split('```')
  const env = { ...process.env, ...servers }
  const { stdout } = await promisify(execFile)('sh', ['-ec', commands], { cwd, env })
  return stdout.trim().split('\n')
}

/** A standby is promoted while its primary runs on, until the pooler names the new one. */
const promoteBeside = (context: ChaosContext): Promise<ChaosCounts> =>
  withPooledPair(async ({ standby, primaryUrl, standbyUrl, pooler, pooledUrl, environment }) => {
    const world = { databaseUrl: pooledUrl, booksUrl: () => standbyUrl, environment }
    let acknowledged: ReadonlyMap<string, number> = new Map()
    let lacking: readonly string[] = []
    const audit = await auditUnderLoad(context, world, async ({ load, witness, report }) => {
      load.markFault()
      await queryAsAdmin(standby.url, PROMOTE)
      await witness.until(/log of node\d: .*former primary/)
      await witness.until(/readyz 503: primary/)
      report('the nodes have noticed')
      await pooler.pointTo(standbyUrl)
      await load.recovery()
      const servers = { FORMER: primaryUrl, PRIMARY: standbyUrl }
      lacking = await listLackingEvents(context.folder, servers)
      acknowledged = new Map(load.acknowledged)
    })
    return verifyLoss(audit, acknowledged, lacking.length)
  })

const needPsql = () =>
  needPooler() ??
  (spawnSync('psql', ['--version']).status === 0 ? undefined : 'psql is not installed')

/** The standby was cloned before the primary became synchronous, and is promoted. */
const loseDurability = (context: ChaosContext): Promise<ChaosCounts> =>
  withPair(async (pair) => {
    const { primary, standby, url, standbyUrl } = pair
    await requireReplica(pair)
    const environment = { GATEHOOK_DURABILITY: 'replica' }
    const world = { databaseUrl: url, booksUrl: () => standbyUrl, environment }
    let own: PostgresServer | undefined
    return auditFault(context, world, async ({ load, cluster, witness, expect, report }) => {
      load.markFault()
      await primary.halt('immediate')
      await queryAsAdmin(standby.url, PROMOTE)
      await witness.until(/POST 503: durability_lost/)
      const { POST } = load.succeeded
      await witness.until(/readyz 503: durability/)
      expect((await cluster.run(['audit', 'list'])).exit === 0, 'audit list does not read')
      expect((await cluster.run(['doctor'])).exit === 1, 'doctor finds nothing')
      await cluster.end(0, 'SIGKILL')
      const { exit } = await cluster.startRefused(0)
      expect(exit === EXIT.later, `a start without a standby ends with ${exit}`)
      expect(load.succeeded.POST === POST, 'a write was acknowledged without a standby')
      own = await standby.openStandby()
      await requireReplica({ primary: standby })
      report('the new primary has a standby')
      await cluster.replace(0)
      await load.recovery()
    }).finally(() => own?.stop())
  })

/** The only standby of a synchronous primary does not confirm commits, until `restore`. */
const loseStandby =
  (lose: (standby: PostgresServer) => Promise<() => unknown>, reason: RegExp) =>
  (context: ChaosContext): Promise<ChaosCounts> =>
    withPair(async (pair) => {
      await requireReplica(pair)
      const environment = { GATEHOOK_DURABILITY: 'replica' }
      const world = { databaseUrl: pair.url, booksUrl: () => pair.primaryUrl, environment }
      return auditFault(context, world, async ({ load, cluster, witness, expect }) => {
        load.markFault()
        const restore = await lose(pair.standby)
        await witness.until(reason)
        const { GET } = load.succeeded
        for (const word of STANDBY_WORDS) await witness.until(word)
        expect((await cluster.run(['doctor'])).exit === 1, 'doctor finds nothing')
        expect(load.succeeded.GET > GET, 'no read succeeded')
        await restore()
        await load.recovery()
      })
    })

const STANDBY_WORDS = [
  /POST 503: /,
  /attention: bad node_not_ready.*synchronous/,
  /gatehook_durability_lost/,
  /log of node\d: .*synchronous standby/,
]
const DOCTOR_WORD = /gatehook doctor, exit 1: durability +fail/

/** As `promoteBeside`, with nodes that require a synchronous standby. */
const promoteBesideReplica = (context: ChaosContext): Promise<ChaosCounts> =>
  withPooledPair(async ({ primary, standby, standbyUrl, pooler, pooledUrl, environment }) => {
    for (const server of [primary, standby]) await requireReplica({ primary: server })
    const world = {
      databaseUrl: pooledUrl,
      booksUrl: () => standbyUrl,
      environment: { ...environment, GATEHOOK_DURABILITY: 'replica' },
    }
    let own: PostgresServer | undefined
    return auditFault(context, world, async ({ load, witness, expect, report }) => {
      load.markFault()
      await queryAsAdmin(standby.url, PROMOTE)
      await witness.until(/log of node\d: .*former primary/)
      await pooler.pointTo(standbyUrl)
      await witness.until(/readyz 503: durability/)
      const { GET } = load.succeeded
      await witness.until(/POST 503: durability_lost/)
      await pause(AWAY_MS)
      expect(load.succeeded.GET > GET, 'no read succeeded before a standby was attached')
      own = await standby.openStandby()
      report('the new primary has a standby')
      await load.recovery()
    }).finally(() => own?.stop())
  })

/** A supervisor starts the node again until the standby is promoted. */
const startWithoutPrimary = (context: ChaosContext): Promise<ChaosCounts> =>
  withPair(async ({ primary, standby, url, standbyUrl }) => {
    const world = { databaseUrl: url, booksUrl: () => standbyUrl }
    return auditFault(context, world, async ({ load, cluster, expect }: OperatorFaults) => {
      load.markFault()
      await primary.halt('fast')
      await cluster.end(0, 'SIGKILL')
      const { exit } = await cluster.startRefused(0)
      expect(exit === EXIT.later, `a start without a primary ends with ${exit}`)
      await queryAsAdmin(standby.url, PROMOTE)
      await cluster.replace(0)
      await load.recovery()
    })
  })

export const primaryFaults: readonly ChaosScenario[] = [
  {
    name: 'frozen-primary',
    title: `SIGSTOP of the primary for ${SILENT_MS / 1_000} s; a standby serves reads`,
    groups: ['operate'],
    nodes: [2],
    words: [
      /readyz 503: primary/,
      /POST 503: storage_unavailable/,
      /gatehook_database_available/,
      ...ON_CONSOLE,
    ],
    missing: needPooler,
    run: freezePrimary,
  },
  {
    name: 'silent-network',
    title: `the network to the database loses all packets for ${SILENT_MS / 1_000} s`,
    groups: ['operate', 'drill'],
    nodes: [2],
    words: [
      /readyz 503: primary: .*has not answered/,
      /GET 503: storage_unavailable/,
      /gatehook_database_available/,
      /gatehook_database_fault\{.*silent/,
      // The console can identify no operator meanwhile.
    ],
    missing: needHaproxy,
    run: silenceNetwork,
  },
  {
    name: 'former-primary',
    title: 'a former primary returns behind the pooler, and a node starts there',
    groups: ['operate'],
    nodes: [2],
    words: [
      /gatehook start, exit \d+: .*former primary.*timeline/,
      /log of node\d: .*former primary/,
    ],
    missing: needPooler,
    run: returnFormerPrimary,
  },
  {
    name: 'two-primaries',
    title: 'a standby is promoted while its primary runs; the runbook lists what it lacks',
    groups: ['operate'],
    nodes: [2],
    words: [/log of node\d: .*former primary/, /readyz 503: primary/],
    missing: needPsql,
    run: promoteBeside,
  },
  {
    name: 'lost-durability',
    title: 'the promoted standby waits for no standby of its own',
    groups: ['operate', 'drill'],
    nodes: [2],
    words: [
      /readyz 503: durability/,
      /POST 503: durability_lost/,
      /gatehook_durability_lost/,
      /gatehook doctor, exit 1: durability +fail/,
      /log of node\d: .*synchronous/,
      /attention: bad node_not_ready.*synchronous/,
      /system: .*synchronous/,
    ],
    missing: needHaproxy,
    run: loseDurability,
  },
  {
    name: 'frozen-standby',
    title: 'SIGSTOP of the only synchronous standby',
    groups: ['operate'],
    nodes: [2],
    words: [/readyz 503: durability: .*confirmed/, ...STANDBY_WORDS, DOCTOR_WORD],
    missing: needHaproxy,
    run: loseStandby(async (standby) => standby.freeze(), /readyz 503: durability: .*confirmed/),
  },
  {
    name: 'dead-standby',
    title: 'the only synchronous standby is killed',
    groups: ['operate'],
    nodes: [2],
    words: [/POST 503: durability_lost/, /readyz 503: durability/, ...STANDBY_WORDS, DOCTOR_WORD],
    missing: needHaproxy,
    run: loseStandby(async (standby) => {
      await standby.halt('kill')
      return () => standby.start()
    }, /readyz 503: durability/),
  },
  {
    name: 'two-primaries-replica',
    title: 'the same with `replica`: reads go on, writes wait until a standby is attached',
    groups: ['operate'],
    nodes: [2],
    words: [
      /log of node\d: .*former primary/,
      /readyz 503: durability/,
      /POST 503: durability_lost/,
      /log of node\d: .*Writes are refused until/,
    ],
    missing: needPooler,
    run: promoteBesideReplica,
  },
  {
    name: 'start-without-primary',
    title: 'a node starts during a failover',
    groups: ['operate'],
    nodes: [2],
    words: [/gatehook start, exit 75: .*primary/],
    missing: needHaproxy,
    run: startWithoutPrimary,
  },
]
