/** A standby that serves reads (`GATEHOOK_DATABASE_READ_URLS`) is away; the primary serves them. */
import { setTimeout as pause } from 'node:timers/promises'
import type { PostgresServer } from '../rig/postgres.ts'
import { needPooler, withPooledPair } from './pair.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { auditFault, requireNoFailure } from './under-load.ts'

const AWAY_MS = 8_000
const AWAY = /log of node\d: a replica cannot be read/

/** Reading commands work meanwhile, and say no more than usual. */
const loseReplica =
  (lose: (standby: PostgresServer) => Promise<() => unknown>) =>
  async (context: ChaosContext): Promise<ChaosCounts> =>
    requireNoFailure(
      await withPooledPair(async ({ standby, primaryUrl, pooledUrl, environment }) => {
        const world = { databaseUrl: pooledUrl, booksUrl: () => primaryUrl, environment }
        return auditFault(context, world, async ({ load, cluster, witness, expect }) => {
          load.markFault()
          const restore = await lose(standby)
          await witness.until(AWAY)
          const list = await cluster.run(['audit', 'list'])
          expect(list.exit === 0, `audit list ends with ${list.exit}`)
          expect(!/^ +at /m.test(list.output), 'audit list prints a stack')
          await load.recovery()
          await pause(AWAY_MS)
          await restore()
          await load.recovery()
        })
      }),
    )

const scenario = (rest: Pick<ChaosScenario, 'name' | 'title' | 'run'>): ChaosScenario => ({
  groups: ['operate'],
  nodes: [2],
  words: [AWAY],
  missing: needPooler,
  ...rest,
})

export const replicaFaults: readonly ChaosScenario[] = [
  scenario({
    name: 'dead-replica',
    title: 'a standby that serves reads is killed',
    run: loseReplica(async (standby) => {
      await standby.halt('kill')
      return () => standby.start()
    }),
  }),
  scenario({
    name: 'frozen-replica',
    title: 'SIGSTOP of a standby that serves reads',
    run: loseReplica(async (standby) => standby.freeze()),
  }),
]
