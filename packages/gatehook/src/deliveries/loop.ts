/**
 * Turns the engine: fills windows, writes results, lets time pass, beats. Three loops that sleep
 * until they are nudged; what they do is `engine.ts`.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../kernel/log.ts'
import type { Engine } from './engine.ts'
import { BEAT_MS, type NodeLeases } from './leases.ts'

/** Time is looked at so often while something waits for it, and while nothing does. */
const BUSY_SWEEP_MS = 20
const IDLE_SWEEP_MS = 250
/**
 * Results gather for so long, so that one commit has many, and longer where they come quickly; no
 * longer than until an endpoint waits for the places they take.
 */
const SETTLE_PAUSE_MS = 5
const SETTLE_PAUSE_MORE_MS = 5
/** So many within the short pause, and they come quickly. */
const BUSY_RESULTS = 32
/** After a failure of the database. */
const FAILED_PAUSE_MS = 500

export interface EngineLoop {
  /** There is something to do. */
  nudge(): void
  /** Resolves when what ran is written or given back. */
  stop(): Promise<void>
}

export async function turnEngine(
  engine: Engine,
  leases: NodeLeases,
  log: Log,
): Promise<EngineLoop> {
  let running = true
  const signals = { hungry: signal(), results: signal(), pressed: signal() }
  const { hungry, results, pressed } = signals
  const turn = () => {
    engine.turn()
    if (engine.isHungry) hungry.give()
  }
  const nudge = nudging(engine, signals, turn)
  const guarded = async (what: string, body: () => Promise<void>) => {
    try {
      await body()
    } catch (error) {
      if (!running) return
      log.warn({ err: error }, what)
      await pause(FAILED_PAUSE_MS)
    }
  }
  const gathering = async () => {
    while (running) {
      await hungry.wait()
      while (running && engine.isHungry) {
        await guarded('due deliveries could not be read', () => engine.gather())
        engine.dispatch()
        await nextTurn() // statements on SQLite resolve without one: sockets have to be served
      }
    }
  }
  const settling = async () => {
    while (running) {
      await results.wait()
      const early = await pressed.wait(SETTLE_PAUSE_MS)
      if (early) await quiet(engine)
      else if (engine.unwritten > BUSY_RESULTS) await pressed.wait(SETTLE_PAUSE_MORE_MS)
      await guarded('results of deliveries could not be written', () => engine.settle())
      turn()
    }
  }
  const sweeper = repeating(
    () => (engine.isBusy ? BUSY_SWEEP_MS : IDLE_SWEEP_MS),
    () => {
      engine.sweep()
      nudge()
    },
  )
  await leases.beat()
  const heart = repeating(
    () => BEAT_MS,
    () => guarded('this node could not show that it lives', () => leases.beat()),
  )
  const loops = Promise.all([gathering(), settling()])
  hungry.give()
  return {
    nudge,
    async stop() {
      sweeper.stop()
      await engine.drain()
      running = false
      hungry.give()
      results.give()
      await loops
      await heart.stop()
      await leases.release()
    },
  }
}

/** Answers that are there already are written with the others. */
async function quiet(engine: Engine): Promise<void> {
  for (let before = -1; engine.unwritten > before; ) {
    before = engine.unwritten
    await nextTurn()
  }
}

/** Wakes who has something to do; one turn for all that ends in a turn of the event loop. */
function nudging(
  engine: Engine,
  { hungry, results, pressed }: Readonly<Record<'hungry' | 'results' | 'pressed', Signal>>,
  turn: () => void,
): () => void {
  let turning = false
  const turned = () => {
    turning = false
    turn()
  }
  return () => {
    if (engine.hasPlaces && !turning) {
      turning = true
      setImmediate(turned)
    }
    if (engine.isHungry) hungry.give()
    if (engine.hasResults) results.give()
    if (engine.isPressed) pressed.give()
  }
}

interface Signal {
  give(): void
  /** False where it was not given within the time. */
  wait(limitMs?: number): Promise<boolean>
}

/** A flag somebody waits for. */
function signal(): Signal {
  let given = false
  let wake: (() => void) | undefined
  return {
    give() {
      given = true
      wake?.()
    },
    async wait(limitMs) {
      if (!given) {
        await new Promise<void>((resolve) => {
          wake = resolve
          if (limitMs !== undefined) setTimeout(resolve, limitMs)
        })
      }
      const was = given
      given = false
      return was
    },
  }
}

/** Again and again, each time after a pause that is asked for anew; `stop` ends it. */
function repeating(pauseMs: () => number, body: () => void | Promise<void>) {
  let timer: NodeJS.Timeout
  let stopped = false
  let last: void | Promise<void>
  const arm = () => {
    timer = setTimeout(async () => {
      last = body()
      await last
      if (!stopped) arm()
    }, pauseMs())
  }
  arm()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await last
    },
  }
}
