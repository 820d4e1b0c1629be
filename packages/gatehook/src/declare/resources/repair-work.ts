/**
 * Repairs rows while nodes of another declaration may write them: in the background, and before
 * reads of a customer whose rows lack values. Without such nodes it looks every 10 s.
 */

import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Call, Endpoint, Operation } from '../../protocol/http/call.ts'
import { BATCH_RECORDS, type RowRepairs } from './row-repairs.ts'

const BACKGROUND_MS = 1_000
const IDLE_MS = 10_000
/** Other nodes may write for this time after the start, and after each row that lacked values. */
const ACTIVE_MS = 5 * 60_000

export interface RepairWork {
  /** Lets GET requests of a resource repair the rows of their scope first. */
  beforeReads(endpoint: Endpoint): Endpoint
  start(): void
  stop(): Promise<void>
}

interface RepairWorkDeps {
  /** Undefined: no row needs repairs. */
  readonly repairs: RowRepairs | undefined
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
  /** The rows that anonymous callers read. */
  readonly publicScope: Scope
}

export function createRepairWork({ repairs, clock, log, publicScope }: RepairWorkDeps): RepairWork {
  if (!repairs) {
    return { beforeReads: (endpoint) => endpoint, start() {}, stop: async () => {} }
  }
  let activeUntilMs = clock.elapsedMs() + ACTIVE_MS
  let lastMs = Number.NEGATIVE_INFINITY
  let stopInterval: (() => Promise<void>) | undefined
  const isActive = () => clock.elapsedMs() < activeUntilMs
  const repair = async (scope?: number): Promise<number> => {
    const records = await repairs.repair(scope)
    if (records > 0) activeUntilMs = clock.elapsedMs() + ACTIVE_MS
    return records
  }
  const run = async () => {
    if (!isActive() && clock.elapsedMs() - lastMs < IDLE_MS) return
    lastMs = clock.elapsedMs()
    let records = BATCH_RECORDS
    while (records === BATCH_RECORDS && stopInterval) records = await repair()
  }
  // A read repairs one batch: a bulk change by another program does not delay it.
  const repairFirst = async (scope: Scope) => {
    try {
      if (await repairs.isNeeded(scope)) await repair(scope)
    } catch (error) {
      log.debug({ err: error }, 'a read took place without the repair of rows')
    }
  }
  const read = (handle: Operation['handle']) => async (call: Call) => {
    if (isActive()) await repairFirst(call.principal?.scope ?? publicScope)
    return handle(call)
  }
  return {
    beforeReads(endpoint) {
      const get = endpoint.kind === 'api' ? endpoint.methods.GET : undefined
      if (!get) return endpoint
      const methods = { ...endpoint.methods, GET: { ...get, handle: read(get.handle) } }
      return { ...endpoint, methods }
    },
    start() {
      const failure = 'rows without derived values were not repaired'
      stopInterval ??= startInterval({ intervalMs: BACKGROUND_MS, run, log, failure })
    },
    async stop() {
      const stop = stopInterval
      stopInterval = undefined
      await stop?.()
    },
  }
}
