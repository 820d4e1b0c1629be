/**
 * Jobs that fill rows again which nodes of another declaration wrote without a value of this one: a
 * computed column, a folded text, the words of a search. A job waits until the registry shows that
 * the last of these nodes is gone (decisions 0040 and 0071). Then it fills all rows, in parts: each
 * rests as long as a part takes three times, and has the position and the number of rows as its
 * input.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { Continuation, type JobHandler } from '../../platform/jobs/job.ts'
import { type EnqueueJob, enqueueNamed } from '../../platform/jobs/queue.ts'
import { jobs } from '../../platform/jobs/tables.ts'
import { listRunningNodes, type RunningNode } from '../../platform/nodes/registry.ts'
import type { Database, Value } from '../../platform/storage/database.ts'
import { listComputedAdditions, tableExists } from './additions.ts'
import { createComputedFill, filledColumns } from './computed-fill.ts'
import type { ResourceDefinition } from './resource.ts'
import type { RowFill } from './row-fill.ts'
import { createWordFill, listOtherWords } from './search-fill.ts'
import { describeWords, hasWords } from './search-index.ts'
import type { ServiceDefinition } from './service.ts'
import { wordTable } from './table.ts'

/** The time between two looks at the nodes. */
const LOOK_MS = 30_000
/** A part has the batches that begin within this time. */
const PART_MS = 100
const TIMEOUT_MS = 600_000

interface RefillDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly service: ServiceDefinition
  /** The rest after a part, as a multiple of its time. */
  readonly rest: number
}

/** A value that rows of a resource store: a column, or words. */
interface StoredValue {
  /** The name of its job: `lines.total`, `lines words of name 1`. */
  readonly name: string
  /** Whether a node writes rows of the resource without the value. */
  readonly isLackedBy: (node: RunningNode) => boolean
  readonly createFill: (deps: RefillDeps) => RowFill
}

const wordsName = ({ name }: ResourceDefinition, words: string) => `${name} words of ${words}`

/** Returns the searched fields from which a node derives words. */
const wordsOf = (definition: ResourceDefinition, { columns }: RunningNode): string | undefined =>
  columns[wordTable(definition)]?.word

function valuesOf(definition: ResourceDefinition): StoredValue[] {
  const { name } = definition
  const computed = filledColumns(definition).map((column) => ({
    name: `${name}.${column}`,
    isLackedBy: ({ columns: { [name]: use } }: RunningNode) => use !== undefined && !use[column],
    createFill: ({ db, log, service }: RefillDeps) =>
      createComputedFill(db, definition, service, (error) =>
        log.error({ err: error }, 'computed fields of a row stay as they are'),
      ),
  }))
  if (!hasWords(definition)) return computed
  const own = describeWords(definition)
  const words = {
    name: wordsName(definition, own),
    isLackedBy: (node: RunningNode) =>
      node.columns[name] !== undefined && wordsOf(definition, node) !== own,
    createFill: ({ db }: RefillDeps) => createWordFill(db, definition),
  }
  return [...computed, words]
}

/**
 * Enqueues a job for each value that a node lacks: a running one those of this declaration, and
 * this declaration those of the database.
 */
export async function requestRefills(
  db: Database,
  resources: readonly ResourceDefinition[],
  { nowMs, enqueue }: { readonly nowMs: number; readonly enqueue: EnqueueJob },
): Promise<void> {
  if (!(await tableExists(db, jobs.name))) return
  const nodes = await listRunningNodes(db, nowMs)
  const lacked = resources.flatMap(valuesOf).filter(({ isLackedBy }) => nodes.some(isLackedBy))
  // A later start with other words indexes all rows again; nodes that run have to.
  const otherWords = (await listOtherWords(db, resources)).filter(
    ([definition, words]) =>
      !hasWords(definition) || nodes.some((node) => wordsOf(definition, node) === words),
  )
  const names = [
    ...lacked.map(({ name }) => name),
    ...otherWords.map(([definition, words]) => wordsName(definition, words)),
    ...(await listComputedAdditions(db, resources)),
  ]
  if (names.length > 0) await db.write((tx) => enqueueNamed(tx, enqueue, 'fill', names))
}

/** Returns the handlers of the jobs that fill the values of the declaration. */
export const createRefillHandlers = (deps: RefillDeps): JobHandler[] =>
  deps.service.resources.flatMap(valuesOf).map((value) => ({
    kind: 'fill',
    name: value.name,
    // The rows need their values.
    attempts: Number.POSITIVE_INFINITY,
    timeoutMs: TIMEOUT_MS,
    run: ({ input }) => runPart(deps, value, JSON.parse(input) as RefillInput),
  }))

/** The position of a refill, in the input of its job. */
interface RefillInput {
  readonly after?: readonly Value[]
  readonly rows?: number
}

async function runPart(
  deps: RefillDeps,
  { name, isLackedBy, createFill }: StoredValue,
  { after, rows = 0 }: RefillInput,
): Promise<Continuation | undefined> {
  const { db, clock, log, rest } = deps
  const nodes = after ? [] : await listRunningNodes(db, clock.now())
  // Nodes register before they request: one that this read misses requests another job.
  if (nodes.some(isLackedBy)) return new Continuation(clock.now() + LOOK_MS)
  const startMs = clock.elapsedMs()
  const fill = createFill(deps)
  const position = { after, rows }
  do {
    const { count, next } = await db.write(async (tx) => {
      const batch = await fill.fillBatch(tx, position.after)
      if (!batch.next) await fill.complete?.(tx)
      return batch
    })
    position.after = next
    position.rows += count
  } while (position.after && clock.elapsedMs() - startMs < PART_MS)
  if (position.after) {
    const restMs = rest * (clock.elapsedMs() - startMs)
    return new Continuation(clock.now() + restMs, JSON.stringify(position))
  }
  log.info({ job: name, rows: position.rows }, 'rows of other nodes are complete')
  return undefined
}
