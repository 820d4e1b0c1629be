/** A release whose migration takes a column from nodes that run. */
import type { Kind } from '../rig/databases.ts'
import type { Release } from './payments-service.ts'
import type { ChaosContext, ChaosScenario } from './scenario.ts'
import { auditFault, needHaproxy, withDatabase } from './under-load.ts'

const REFUSED = 75
/** Requests between the refused migration and the forced one. */
const BETWEEN = 100

/** The migration is refused, then forced; nodes of the new release replace the others. */
const takeColumn = (kind: Kind, release: Release) => (context: ChaosContext) =>
  withDatabase(kind, context, (databaseUrl) => {
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    return auditFault(context, world, async ({ load, cluster, witness, expect, report }) => {
      load.markFault()
      const { exit } = await cluster.run(['migrate'], { release })
      expect(exit === REFUSED, `the migration ends with ${exit}`)
      await load.until(load.requests + BETWEEN)
      expect(!witness.find(/^(POST|GET) 5/), 'requests fail although nothing was migrated')
      load.markFault()
      const forced = await cluster.run(['migrate', '--force'], { release })
      expect(forced.exit === 0, `the forced migration ends with ${forced.exit}`)
      await witness.until(/readyz 503: schema/)
      report('nodes of the former release are not ready')
      for (const at of cluster.nodes.keys()) {
        await cluster.end(at, 'SIGKILL')
        await cluster.replace(at, { release })
      }
      await load.recovery()
      await cluster.end(0, 'SIGKILL')
      const old = await cluster.startRefused(0)
      expect(old.exit === 78, `a start of the former release ends with ${old.exit}`)
      await cluster.replace(0, { release })
    })
  })

const scenario = (kind: Kind, release: Release, verb: string): ChaosScenario => ({
  name: `${release}-column-${kind}`,
  title: `a migration ${verb} a column of nodes that run`,
  groups: ['operate'],
  nodes: [kind === 'sqlite' ? 1 : 2],
  words: [
    /gatehook migrate, exit 75: .*payments\.memo.*node1/,
    /readyz 503: schema/,
    /log of node\d: .*lacks columns/,
    /gatehook start, exit 78: .*migration 1/,
  ],
  missing: needHaproxy,
  run: takeColumn(kind, release),
})

export const schemaFaults: readonly ChaosScenario[] = [
  scenario('postgres', 'dropped', 'drops'),
  scenario('sqlite', 'dropped', 'drops'),
  scenario('postgres', 'renamed', 'renames'),
]
