/**
 * A failover of PostgreSQL under load: the primary crashes, the standby is promoted, and the former
 * primary returns. With a synchronous standby nothing is lost. Without one, the commits that the
 * standby had not received are lost, and the audit trail counts them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { queryAsAdmin } from '../rig/postgres.ts'
import { requireReplica, withPair } from './pair.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { auditUnderLoad, needHaproxy, verifyAudit, verifyLoss } from './under-load.ts'

/** How long the standby lacks the commits of the primary. */
const BEHIND_MS = 1_000
/** How long the load runs after the promotion, and after the return of the former primary. */
const AFTER_MS = 6_000

function failOver(context: ChaosContext, durability: 'local' | 'replica'): Promise<ChaosCounts> {
  return withPair(async (pair) => {
    const { primary, standby, url, standbyUrl } = pair
    const isSafe = durability === 'replica'
    if (isSafe) await requireReplica(pair)
    const environment = { GATEHOOK_DURABILITY: durability }
    const world = { databaseUrl: url, booksUrl: () => standbyUrl, environment }
    let acknowledgedIds: ReadonlyMap<string, number> = new Map()
    const audit = await auditUnderLoad(context, world, async ({ load, cluster, report }) => {
      if (!isSafe) {
        await standby.halt('fast')
        await pause(BEHIND_MS)
      }
      load.markFault()
      await primary.halt('immediate')
      if (!isSafe) await standby.start()
      await queryAsAdmin(standby.url, 'SELECT pg_promote()')
      report('the standby is the primary')
      await pause(AFTER_MS)
      await primary.start()
      report('the former primary has returned')
      load.markFault()
      await cluster.end(0, 'SIGKILL')
      // The new primary has no standby of its own, which a start with `replica` requires.
      await cluster.replace(0, { environment: { GATEHOOK_DURABILITY: 'local' } })
      report('a node has started beside both')
      await pause(AFTER_MS)
      acknowledgedIds = new Map(load.acknowledged)
    })
    if (isSafe) return verifyAudit(audit)
    const [row] = await queryAsAdmin(standbyUrl, REPORTED)
    return verifyLoss(audit, acknowledgedIds, Number(row!.lost))
  })
}

const REPORTED = `SELECT coalesce(sum((detail::json ->> 'lost_events')::int), 0)::int AS lost
  FROM gh_audit WHERE action = 'database.promoted'`

export const failovers: readonly ChaosScenario[] = [
  {
    name: 'failover-replica',
    title: 'the primary crashes, with a synchronous standby',
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [/log of node\d: a standby of the database was promoted/, /readyz 503: durability/],
    missing: needHaproxy,
    run: (context) => failOver(context, 'replica'),
  },
  {
    name: 'failover-local',
    title: 'the primary crashes, with a standby that is 1 s behind',
    groups: ['load', 'operate'],
    nodes: [2, 4],
    words: [/log of node\d: a standby of the database was promoted/],
    missing: needHaproxy,
    run: (context) => failOver(context, 'local'),
  },
]
