/**
 * Runs the engine: one loop fills windows, one writes results, timers sweep and renew the leases.
 * The loops sleep until they are nudged; the work itself is in `engine.ts`.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../kernel/log.ts'
import type { DeliveryEngine } from './engine.ts'
import { HEARTBEAT_MS } from './leases.ts'
import type { NodeLeases } from './ports.ts'

/** Time between sweeps while the engine is busy, and while it is idle. */
const BUSY_SWEEP_MS = 20
const IDLE_SWEEP_MS = 250
/** Results accumulate for this time, or until there are so many: one commit has all of them. */
const WRITE_PAUSE_MS = 10
const WRITE_AT_RESULTS = 128
/** The pause after a failure of the database. */
const FAILURE_PAUSE_MS = 500

interface EngineLoop {
  /** Renews the leases of this node before their time. */
  renewLeases(): void
  /** Wakes the loops that have work. */
  nudge(): void
  /** Resolves when every attempt in flight has its result written or was aborted. */
  stop(): Promise<void>
}

export async function runEngine(
  engine: DeliveryEngine,
  leases: NodeLeases,
  log: Log,
): Promise<EngineLoop> {
  let isRunning = true
  const windows = createSignal()
  const results = createSignal()
  let endPause = () => {}
  const reuseSlots = () => {
    engine.reuseSlots()
    if (engine.hasWindowsToFill) windows.set()
  }
  let isReusing = false
  const nudge = () => {
    // One reuse serves all attempts that end in the same turn of the event loop.
    if (engine.hasFreedSlots && !isReusing) {
      isReusing = true
      setImmediate(() => {
        isReusing = false
        reuseSlots()
      })
    }
    if (engine.hasWindowsToFill) windows.set()
    if (engine.hasResults) results.set()
    if (engine.unwritten >= WRITE_AT_RESULTS) endPause()
  }
  const runGuarded = async (failure: string, body: () => Promise<void>) => {
    try {
      await body()
    } catch (error) {
      if (!isRunning) return
      log.warn({ err: error }, failure)
      await pause(FAILURE_PAUSE_MS)
    }
  }
  const fillWindows = async () => {
    while (isRunning) {
      await windows.wait()
      while (isRunning && engine.hasWindowsToFill) {
        await runGuarded('due deliveries could not be read', () => engine.fillWindows())
        engine.startAttempts()
        await nextTurn() // on SQLite, statements resolve without a turn: sockets need one
      }
    }
  }
  const writeResults = async () => {
    while (isRunning) {
      await results.wait()
      if (engine.unwritten < WRITE_AT_RESULTS) {
        await new Promise<void>((resolve) => {
          endPause = resolve
          setTimeout(resolve, WRITE_PAUSE_MS)
        })
      }
      await runGuarded('results of deliveries could not be written', () => engine.writeResults())
      reuseSlots()
    }
  }
  const sweeper = repeat(
    () => (engine.isBusy ? BUSY_SWEEP_MS : IDLE_SWEEP_MS),
    () => {
      engine.sweep()
      nudge()
      if (leases.hasHandovers) void moveCustomers()
    },
  )
  const moveCustomers = () =>
    runGuarded('customers could not move to another node', () => leases.finishHandovers(engine))
  const renew = oneAtATime(() =>
    runGuarded('the heartbeat of this node failed', () => leases.heartbeat(engine)).then(nudge),
  )
  // A read-only database does not end the process; the engine sends once the lease is renewed.
  await renew()
  const heartbeats = repeat(() => HEARTBEAT_MS, renew)
  const loops = Promise.all([fillWindows(), writeResults()])
  windows.set()
  return {
    nudge,
    renewLeases: () => void renew(),
    async stop() {
      sweeper.stop()
      await engine.drain()
      isRunning = false
      windows.set()
      results.set()
      await loops
      await heartbeats.stop()
      await renew() // waits for a heartbeat that an announcement caused
      await leases.release()
    },
  }
}

interface Signal {
  set(): void
  /** Waits until it is set, and resets it. */
  wait(): Promise<void>
}

function createSignal(): Signal {
  let isSet = false
  let wake: (() => void) | undefined
  return {
    set() {
      isSet = true
      wake?.()
    },
    async wait() {
      if (!isSet) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      isSet = false
    },
  }
}

/** Returns a function that runs `body` once at a time; requests while one waits share it. */
function oneAtATime(body: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve()
  let isQueued = false
  return () => {
    if (isQueued) return last
    isQueued = true
    last = last.then(() => {
      isQueued = false
      return body()
    })
    return last
  }
}

/** Repeats `body`, with a pause that is computed each time, until `stop`. */
function repeat(pauseMs: () => number, body: () => void | Promise<void>) {
  let timer: NodeJS.Timeout
  let isStopped = false
  let last: void | Promise<void>
  const arm = () => {
    timer = setTimeout(async () => {
      last = body()
      await last
      if (!isStopped) arm()
    }, pauseMs())
  }
  arm()
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await last
    },
  }
}
