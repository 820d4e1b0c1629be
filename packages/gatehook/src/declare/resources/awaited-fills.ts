/**
 * Fills rows again that nodes of another declaration wrote without its values: computed columns,
 * folded texts, words. A mark stays for each such resource until the registry shows that the last
 * of these nodes is gone (decisions 0040 and 0071). Then one node fills all rows.
 */
import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { listRunningNodes, type RunningNode } from '../../platform/storage/running-nodes.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import { sql } from '../../platform/storage/sql.ts'
import { listUndeclaredAdditions, tableExists } from './additions.ts'
import { fillComputedFields, filledColumns, requestFill } from './computed-fill.ts'
import type { ResourceDefinition } from './resource.ts'
import { fillSearchIndexes, listOtherWords, requestWords } from './search-fill.ts'
import { describeWords, hasWords } from './search-index.ts'
import type { ServiceDefinition } from './service.ts'
import { wordTable } from './table.ts'

const LOOK_MS = 30_000

/** A value that rows of a resource store: a column, or what words follow from. */
type FilledValue = readonly [resource: string, value: string]

const valuesOf = (definition: ResourceDefinition): string[] => [
  ...filledColumns(definition),
  ...(hasWords(definition) ? [describeWords(definition)] : []),
]

/** Returns the values of the declaration that a node does not write with rows of the resource. */
function lackedValues(
  definition: ResourceDefinition,
  { columns }: Pick<RunningNode, 'columns'>,
): FilledValue[] {
  const { name } = definition
  const use = columns[name]
  if (!use) return []
  const words = columns[wordTable(definition)]?.word
  const lacked = valuesOf(definition).filter((value) => !use[value] && value !== words)
  return lacked.map((value) => [name, value])
}

const mark = async (tx: Tx, values: readonly FilledValue[]): Promise<void> => {
  for (const [resource, value] of values) {
    await tx.run(sql`INSERT INTO gh_awaited_fills (resource, value) VALUES (${resource}, ${value})
      ON CONFLICT DO NOTHING`)
  }
}

/**
 * Marks the values that a node lacks: a running one those of this declaration, or this declaration
 * those of the database.
 */
export async function markAwaitedFills(
  db: Database,
  resources: readonly ResourceDefinition[],
  nowMs: number,
): Promise<void> {
  if (!(await tableExists(db, 'gh_awaited_fills'))) return
  const nodes = await listRunningNodes(db, nowMs)
  const values = [
    ...(await listUndeclaredAdditions(db, resources)).map((path) => path.split('.') as never),
    ...(await listOtherWords(db, resources)),
    ...resources.flatMap((definition) => nodes.flatMap((node) => lackedValues(definition, node))),
  ]
  const marked = await listMarks(db)
  const missing = values.filter((value) => !marked.has(String(value)))
  if (missing.length > 0) await db.write((tx) => mark(tx, missing))
}

async function listMarks(db: Database): Promise<Set<string>> {
  return new Set((await db.arrays(sql`SELECT resource, value FROM gh_awaited_fills`)).map(String))
}

/** SQL of 1 if there is a mark, or a fill that a node began and did not end, else 0. */
const selectWork = () => sql`(SELECT count(*) FROM (SELECT 1 FROM gh_awaited_fills
  UNION ALL SELECT 1 FROM gh_computed_fills
  UNION ALL SELECT 1 FROM gh_search_indexes WHERE last_scope IS NOT NULL LIMIT 1) AS w)`

export interface AwaitedFills {
  /** Tells a node whether it has to run. */
  readonly polled: readonly PolledValue[]
  /** Fills the marked resources whose values no running node lacks. */
  run(): Promise<void>
  /** Call it when the registry has this node, and before it serves. */
  start(): Promise<void>
  stop(): Promise<void>
}

interface AwaitedFillsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly service: ServiceDefinition
}

export function createAwaitedFills({ db, clock, log, service }: AwaitedFillsDeps): AwaitedFills {
  const { resources } = service
  /** The owner of a SQLite file is its only node: other rows are of processes that were killed. */
  const isOnlyNode = db.generation !== undefined
  const listNodes = async (reader: Database | Tx): Promise<readonly RunningNode[]> =>
    isOnlyNode ? [] : listRunningNodes(reader, clock.now())
  const report = (line: string) => log.info(line)
  const onFailure = (error: unknown) =>
    log.error({ err: error }, 'the computed fields of a row stay as they are')
  const request = (definition: ResourceDefinition) =>
    db.write(async (tx) => {
      const { name } = definition
      for (const value of valuesOf(definition)) {
        await tx.run(
          sql`DELETE FROM gh_awaited_fills WHERE resource = ${name} AND value = ${value}`,
        )
      }
      // Nodes register before they mark: one that this transaction does not see marks again.
      const lacked = (await listNodes(tx)).flatMap((node) => lackedValues(definition, node))
      if (lacked.length > 0) return mark(tx, lacked)
      if (filledColumns(definition).length > 0) await requestFill(tx, definition)
      await requestWords(tx, definition)
    })
  const run = async () => {
    const marked = await listMarks(db)
    const nodes = await listNodes(db)
    const isLacked = (definition: ResourceDefinition) =>
      nodes.some((node) => lackedValues(definition, node).length > 0)
    const filled = resources.filter((definition) => !isLacked(definition))
    for (const definition of filled) {
      const { name } = definition
      if (valuesOf(definition).some((value) => marked.has(String([name, value])))) {
        await request(definition)
      }
    }
    await fillComputedFields(db, { ...service, resources: filled }, report, onFailure)
    await fillSearchIndexes(db, filled, report)
  }
  let hasWork = false
  const receive = (value: unknown) => {
    hasWork = value !== 0
  }
  const look = async () => {
    if (hasWork) await run()
  }
  let stop = async () => {}
  return {
    polled: [{ select: selectWork, receive }],
    run,
    async start() {
      await markAwaitedFills(db, resources, clock.now())
      if (!db.dialect.shared) return
      const failure = 'rows of nodes of another declaration were not completed'
      stop = startInterval({ intervalMs: LOOK_MS, run: look, log, failure })
    },
    stop: () => stop(),
  }
}
