/**
 * Fills rows again that nodes of another declaration wrote without its values: computed columns,
 * folded texts, words. A mark stays for each such resource until the registry shows that the last
 * of these nodes is gone (decisions 0040 and 0071). Then one node fills all rows, and rests after
 * each batch. A node that stops leaves the other batches to the next one.
 */
import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import { type BatchPace, createBatchPace } from '../../kernel/pace.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { listRunningNodes, type RunningNode } from '../../platform/storage/running-nodes.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import { sql } from '../../platform/storage/sql.ts'
import { listUndeclaredAdditions, tableExists } from './additions.ts'
import { tableFields } from './computed.ts'
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

/** Writes marks in one order, so that nodes do not wait for each other. */
const mark = async (tx: Tx, values: readonly FilledValue[]): Promise<void> => {
  for (const [resource, value] of values.toSorted()) {
    // It waits for a transaction that deletes the mark.
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
  if (values.length > 0) await db.write((tx) => mark(tx, values))
}

/** Deletes a mark. Returns whether there was one. */
const deleteMark = async (tx: Tx, resource: string, value: string): Promise<boolean> =>
  (await tx.run(sql`DELETE FROM gh_awaited_fills
    WHERE resource = ${resource} AND value = ${value}`)) > 0

/** Deletes the marks of columns that need no fill: a node that lacks them cannot know this. */
async function deletePlainMarks(
  db: Database,
  resources: readonly ResourceDefinition[],
  isMarked: (resource: string, value: string) => boolean,
): Promise<void> {
  const plain = resources.flatMap(({ name, fields }) =>
    tableFields(fields)
      .filter(([field, { computed }]) => !computed && isMarked(name, field))
      .map(([field]): FilledValue => [name, field]),
  )
  if (plain.length === 0) return
  await db.write(async (tx) => {
    for (const [resource, field] of plain.toSorted()) await deleteMark(tx, resource, field)
  })
}

/** SQL of 1 if there is a mark, or a fill that a node began and did not end, else 0. */
const selectWork = () => sql`(SELECT count(*) FROM (SELECT 1 FROM gh_awaited_fills
  UNION ALL SELECT 1 FROM gh_computed_fills
  UNION ALL SELECT 1 FROM gh_search_indexes WHERE last_scope IS NOT NULL LIMIT 1) AS w)`

export interface AwaitedFills {
  /** Tells a node whether it has to run. */
  readonly polled: readonly PolledValue[]
  /** Fills the marked resources whose values no running node lacks, without `pace` at once. */
  run(pace?: BatchPace): Promise<void>
  /** Call it when the registry has this node, and before it serves. */
  start(): Promise<void>
  /** Resolves when the current batch has ended. */
  stop(): Promise<void>
}

interface AwaitedFillsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly service: ServiceDefinition
  /** Milliseconds between two looks. */
  readonly lookMs?: number
}

export function createAwaitedFills({
  db,
  clock,
  log,
  service,
  lookMs = LOOK_MS,
}: AwaitedFillsDeps): AwaitedFills {
  const { resources } = service
  /** The owner of a SQLite file is its only node: other rows are of processes that were killed. */
  const isOnlyNode = db.generation !== undefined
  const listNodes = async (reader: Database | Tx): Promise<readonly RunningNode[]> =>
    isOnlyNode ? [] : listRunningNodes(reader, clock.now())
  const report = (line: string) => log.info(line)
  const onFailure = (error: unknown) =>
    log.error({ err: error }, 'computed fields of rows stay as they are')
  const request = (definition: ResourceDefinition) =>
    db.write(async (tx) => {
      const { name } = definition
      const marked: string[] = []
      for (const value of valuesOf(definition).toSorted()) {
        if (await deleteMark(tx, name, value)) marked.push(value)
      }
      // Nodes register before they mark: one that this transaction does not see marks again.
      const lacked = (await listNodes(tx)).flatMap((node) => lackedValues(definition, node))
      if (lacked.length > 0) {
        return mark(tx, [...marked.map((value) => [name, value] as const), ...lacked])
      }
      if (filledColumns(definition).some((value) => marked.includes(value))) {
        await requestFill(tx, definition)
      }
      if (marked.includes(describeWords(definition))) await requestWords(tx, definition)
    })
  const run = async (pace?: BatchPace) => {
    const marks = await db.arrays(sql`SELECT resource, value FROM gh_awaited_fills`)
    const marked = new Set(marks.map(String))
    const isMarked = (...value: FilledValue) => marked.has(String(value))
    await deletePlainMarks(db, resources, isMarked)
    const nodes = await listNodes(db)
    const isLacked = (definition: ResourceDefinition) =>
      nodes.some((node) => lackedValues(definition, node).length > 0)
    const filled = resources.filter((definition) => !isLacked(definition))
    for (const definition of filled) {
      const { name } = definition
      if (valuesOf(definition).some((value) => isMarked(name, value))) await request(definition)
    }
    await fillComputedFields(db, service, report, { resources: filled, onFailure, pace })
    await fillSearchIndexes(db, filled, report, pace)
  }
  let hasWork = false
  const receive = (value: unknown) => {
    hasWork = value !== 0
  }
  const stopping = new AbortController()
  const look = async () => {
    if (hasWork) await run(createBatchPace(clock, stopping.signal))
  }
  let stop = async () => {}
  return {
    polled: [{ select: selectWork, receive }],
    run,
    async start() {
      await markAwaitedFills(db, resources, clock.now())
      if (!db.dialect.shared) return
      const failure = 'rows of nodes of another declaration were not completed'
      stop = startInterval({ intervalMs: lookMs, run: look, log, failure })
    },
    async stop() {
      stopping.abort()
      await stop()
    },
  }
}
