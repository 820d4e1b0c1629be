/**
 * A failover of PostgreSQL under load: the primary crashes, the standby is promoted, and the former
 * primary returns. With a synchronous standby nothing is lost. Without one, the commits that the
 * standby had not received are lost, and the audit trail counts them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { queryAsAdmin } from '../rig/postgres.ts'
import { requireReplica, withPair } from './pair.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { auditUnderLoad, needHaproxy, verifyAudit } from './under-load.ts'

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
    return verifyLoss(audit, acknowledgedIds, standbyUrl)
  })
}

/** Requires that the audit trail counts what a failover without a synchronous standby lost. */
async function verifyLoss(
  audit: Parameters<typeof verifyAudit>[0],
  acknowledged: ReadonlyMap<string, number>,
  url: string,
): Promise<ChaosCounts> {
  const [row] = await queryAsAdmin(
    url,
    `SELECT coalesce(sum((detail::json ->> 'lost_events')::int), 0)::int AS lost
     FROM gh_audit WHERE action = 'database.promoted'`,
  )
  const reported = Number(row!.lost)
  const { faults, ...counts } = verifyAudit({ ...audit, lost: 0, phantom: 0 })
  const ids = [...acknowledged.values()]
  const repeated = ids.length - new Set(ids).size
  const own = [...faults]
  if (audit.lost === 0) own.push('the standby lacked no commit, so the failover was not tried')
  if (audit.lost > reported) own.push(`lost: ${audit.lost}, of which the audit reports ${reported}`)
  if (repeated > 0) own.push(`${repeated} ids were assigned twice`)
  return { ...counts, lost: audit.lost, faults: own }
}

export const failovers: readonly ChaosScenario[] = [
  {
    name: 'failover-replica',
    title: 'the primary crashes, with a synchronous standby',
    groups: ['load', 'operate'],
    nodes: [2, 4],
    missing: needHaproxy,
    run: (context) => failOver(context, 'replica'),
  },
  {
    name: 'failover-local',
    title: 'the primary crashes, with a standby that is 1 s behind',
    groups: ['load', 'operate'],
    nodes: [2],
    missing: needHaproxy,
    run: (context) => failOver(context, 'local'),
  },
]
