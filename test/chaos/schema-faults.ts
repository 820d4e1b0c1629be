/** A release whose migration takes a column from nodes that run; and the recipes that do not. */
import type { Kind } from '../rig/databases.ts'
import { queryAsAdmin } from '../rig/postgres.ts'
import { restartInTurn } from './node-faults.ts'
import type { Release } from './payments-service.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { auditFault, needHaproxy, requireNoFailure, withDatabase } from './under-load.ts'

const REFUSED = 75
/** Requests between the refused migration and the forced one. */
const BETWEEN = 100
const LACKING = /log of node\d: .*lacks \S+, which/

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
      await witness.until(LACKING)
      report('nodes of the former release are not ready')
      for (const at of cluster.nodes.keys()) {
        await cluster.end(at, 'SIGKILL')
        await cluster.replace(at, { release })
      }
      await load.recovery()
      load.markFault()
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
    LACKING,
    /gatehook start, exit 78: .*migration 1/,
  ],
  missing: needHaproxy,
  run: takeColumn(kind, release),
})

/** Nodes of each release of a recipe replace those of the one before: no request fails. */
const followRecipe =
  (releases: readonly Release[]) =>
  async (context: ChaosContext): Promise<ChaosCounts> =>
    requireNoFailure(
      await withDatabase('postgres', context, (databaseUrl) => {
        const world = { databaseUrl, booksUrl: () => databaseUrl }
        return auditFault(context, world, async (faults) => {
          const { load, expect } = faults
          for (const release of releases) {
            await restartInTurn(faults, release)
            await load.until(load.requests + BETWEEN)
          }
          const columns = await queryAsAdmin(databaseUrl, COLUMNS)
          const names = columns.map(({ name }) => String(name))
          expect(!names.includes('memo'), 'the former column is there')
          if (!names.includes('note')) return
          const [row] = await queryAsAdmin(databaseUrl, EMPTY)
          expect(Number(row!.count) === 0, `${row!.count} rows have no value`)
        })
      }),
    )

const COLUMNS = `SELECT attname AS name FROM pg_attribute
  WHERE attrelid = 'payments'::regclass AND attnum > 0 AND NOT attisdropped`
const EMPTY = "SELECT count(*) AS count FROM payments WHERE note IS DISTINCT FROM 'none'"

/** A release without a field, and without a migration, is refused; the other node serves. */
const forgetField = async (context: ChaosContext): Promise<ChaosCounts> =>
  requireNoFailure(
    await withDatabase('postgres', context, (databaseUrl) => {
      const world = { databaseUrl, booksUrl: () => databaseUrl }
      return auditFault(context, world, async ({ load, cluster, expect }) => {
        load.markFault()
        await cluster.end(1, 'SIGTERM')
        const { exit } = await cluster.startRefused(1, { release: 'forgotten' })
        expect(exit === 78, `a start without a field ends with ${exit}`)
        const migrate = await cluster.run(['migrate'], { release: 'forgotten' })
        expect(migrate.exit === 78, `its migration ends with ${migrate.exit}`)
        await cluster.replace(1)
        await load.recovery()
      })
    }),
  )

const recipe = (name: string, title: string, releases: readonly Release[]): ChaosScenario => ({
  name,
  title,
  groups: ['operate'],
  nodes: [2],
  words: [/readyz 503: draining/],
  missing: needHaproxy,
  run: followRecipe(releases),
})

export const schemaFaults: readonly ChaosScenario[] = [
  scenario('postgres', 'dropped', 'drops'),
  scenario('sqlite', 'dropped', 'drops'),
  scenario('postgres', 'renamed', 'renames'),
  {
    name: 'forgotten-field',
    title: 'a release lacks a field, and has no migration for it',
    groups: ['operate'],
    nodes: [2],
    words: [/gatehook start, exit 78: .*memo/],
    missing: needHaproxy,
    run: forgetField,
  },
  recipe('removed-field', 'a field is removed by the recipe of the guide', ['retired', 'dropped']),
  recipe('rename-recipe', 'a column is renamed by the recipe of the guide', [
    'expanded',
    'contracted',
  ]),
]
