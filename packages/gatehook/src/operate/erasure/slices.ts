/**
 * The work of a deletion in slices (§18.11): a run of its job deletes slices until its time is
 * over, rests three times as long after each as the slice took, and continues at its position. So
 * it works a quarter of the time, less while the database is busy, and a killed node repeats one
 * run.
 */
import { setTimeout as delay, setImmediate as nextTick } from 'node:timers/promises'
import type { ClearingGrant, ClearingWarrant } from '../../history/audit/chain.ts'
import type { AuditSigner } from '../../history/audit/store.ts'
import { auditTrail } from '../../history/audit/tables.ts'
import type { Clock } from '../../kernel/clock.ts'
import { BATCH_REST } from '../../kernel/pace.ts'
import type {
  CustomerRows,
  OwnedPlace,
  RowPage,
  RowPosition,
} from '../../platform/storage/customer-rows.ts'
import type { Database, Reader, Statement, Tx } from '../../platform/storage/database.ts'

/** A run lasts about this long; its position is stored at its end. */
const RUN_MS = 5_000
/** Rows that one transaction deletes: about 2 ms, for which the requests of others wait. */
export const SLICE_ROWS = 50
/** The shortest rest after a slice. */
const REST_MIN_MS = 2
/**
 * The pause before the last pass: nodes have ended the credentials (§3.2), and requests that they
 * accepted before have ended.
 */
export const SETTLE_MS = 2_500
export const TIMEOUT_MS = 120_000
/**
 * How long after its end a deletion deletes the rows of requests that ended later. A body may take
 * 30 s, its turns 20 s, an upstream 25 s, and the rows of a response 5 s.
 */
export const LATE_MS = 120_000
/** A single pass. */
export const LATE_PASS = { pass: 1, changed: 0 } as const satisfies WalkState
/** An error does not end a deletion. */
export const ATTEMPTS = Number.POSITIVE_INFINITY

/** Where rows are: in the engine's database, or in the file of monitoring. */
export interface RowPlace extends Reader {
  write(statements: readonly Statement[]): Promise<readonly number[]>
}

interface SliceResult {
  /** The rows that it changed. */
  readonly changed: number
  /** Undefined after the last slice. */
  readonly next: RowPosition | undefined
}

/** Rows that are walked slice by slice. */
export interface WalkStep {
  readonly name: string
  readonly slice: (position: RowPosition) => Promise<SliceResult>
  /** Requests go on to add rows: they cause no further pass, and a later one removes the last. */
  readonly isFollowed?: boolean | undefined
}

/** The place in a walk, which the input of the job stores. */
export interface WalkState {
  /** From 0. The pass after one that changed nothing is the last. */
  readonly pass: number
  /** Rows that this pass has changed. */
  readonly changed: number
  /** The name of a step; undefined: the first. */
  readonly step?: string | undefined
  readonly position?: RowPosition | undefined
}

interface WalkRun {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly signal: AbortSignal
  /** The last pass, whatever it changed. Default: none. */
  readonly lastPass?: number
  /** The pause after the first pass. */
  readonly settleMs?: number
  /** The pause after each later one that changed rows. Default: none. */
  readonly passRestMs?: number
  /** Whether the walk pauses for no other request. */
  readonly isAwaited?: boolean | undefined
}

/**
 * Walks the steps of a pass until the time of a run is over. Returns the next state; undefined
 * after a pass without a change, which is not the first, and after `lastPass`.
 */
export async function walkSteps(
  steps: readonly WalkStep[],
  state: WalkState,
  {
    clock,
    signal,
    lastPass = Number.POSITIVE_INFINITY,
    settleMs = SETTLE_MS,
    passRestMs = 0,
    isAwaited,
  }: WalkRun,
): Promise<WalkState | undefined> {
  const rest = (ms: number) => (isAwaited ? nextTick() : delay(ms, undefined, { signal }))
  const begunMs = clock.elapsedMs()
  let { pass, changed } = state
  const at = steps.findIndex(({ name }) => name === state.step)
  for (const { name, slice, isFollowed } of steps.slice(Math.max(0, at))) {
    let position = name === state.step ? state.position : undefined
    for (position ??= { owner: 0 }; position; ) {
      signal.throwIfAborted()
      const sliceMs = clock.elapsedMs()
      if (sliceMs - begunMs >= RUN_MS) return { pass, changed, step: name, position }
      const result: SliceResult = await slice(position)
      if (!isFollowed) changed += result.changed
      position = result.next
      const restMs = BATCH_REST * (clock.elapsedMs() - sliceMs)
      await rest(Math.max(REST_MIN_MS, restMs))
    }
  }
  if (pass > 0 && changed === 0) return undefined
  await rest(pass === 0 ? settleMs : passRestMs)
  return pass > 0 && pass >= lastPass ? undefined : { pass: pass + 1, changed: 0 }
}

/** Bytes of a key in the input of a job are an object. */
const HEX = 'hex'

export const encodeState = (state: object): string =>
  // The replacer receives what `Buffer.toJSON` returns, so that it reads the member itself.
  JSON.stringify(state, function (this: Readonly<Record<string, unknown>>, name, value) {
    const member = this[name]
    return member instanceof Uint8Array ? { [HEX]: Buffer.from(member).toString('hex') } : value
  })

export const decodeState = <T>(text: string): T =>
  JSON.parse(text, (_, value) =>
    typeof value?.[HEX] === 'string' ? Buffer.from(value[HEX], 'hex') : value,
  )

/**
 * Returns the warrant of a job, which names the person or customer; undefined once the erasure has
 * ended: a run that was killed after its end repeats nothing. Throws for a forged one.
 */
export async function openWarrant(
  { db, trail }: { readonly db: Database; readonly trail: AuditSigner },
  warrant: ClearingWarrant | undefined,
  { action, values }: Pick<ClearingGrant, 'action' | 'values'>,
): Promise<ClearingWarrant | undefined> {
  if (!(await trail.isOpenWarrant(db, warrant))) return undefined
  if (warrant!.action !== action || warrant!.values !== values) {
    throw new Error('The warrant of the job is of another erasure.')
  }
  return warrant
}

interface SliceDeps {
  readonly db: Database
  readonly trail: Pick<AuditSigner, 'proveClearing'>
  readonly warrant: ClearingWarrant
  readonly monitoring: RowPlace
}

export interface TableWalk {
  readonly rows: CustomerRows
  /** Returns the statement that changes rows of one owner. */
  readonly statement: (page: RowPage['rows']) => Statement
  /** Selects rows of a page. Default: all. */
  readonly has?: (cells: RowPage['rows'][number]) => boolean
  /** Called in the transaction with the number of changed rows. */
  readonly onChange?: (tx: Tx, count: number) => void
}

/** Selects rows of a page. Their texts have up to 256 KiB each: the event loop runs after each. */
async function select(page: RowPage['rows'], has: NonNullable<TableWalk['has']>) {
  const selected: RowPage['rows'][number][] = []
  for (const cells of page) {
    if (has(cells)) selected.push(cells)
    await nextTick()
  }
  return selected
}

/** Returns the slices of a table. */
export const tableSlices =
  (
    { db, monitoring, trail, warrant }: SliceDeps,
    place: OwnedPlace,
    walk: TableWalk,
  ): WalkStep['slice'] =>
  async (position) => {
    const { rows, statement, has, onChange } = walk
    const isApart = rows.table.apart === true
    const reader = isApart ? monitoring : db
    const { rows: page, next } = await rows.page(reader, place, position, SLICE_ROWS)
    const selected = has ? await select(page, has) : page
    let changed = 0
    for (const owned of selected.length > 0 ? rows.byOwner(selected) : []) {
      const sql = statement(owned)
      if (isApart) changed += (await monitoring.write([sql]))[0]!
      else {
        const change = async (tx: Tx) => {
          if (rows.table === auditTrail) {
            const positions = rows.valuesOf(owned, 'position').map(Number)
            await trail.proveClearing(tx, positions, warrant)
          }
          const count = await tx.run(sql)
          if (count > 0) onChange?.(tx, count)
          return count
        }
        // The position of a run is committed after its slices.
        changed += await db.write(change, { unsynced: true })
      }
    }
    return { changed, next }
  }
