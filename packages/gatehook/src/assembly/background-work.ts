/** The background work of all components: purges, loops, and their orderly end. */
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { startJanitor } from '../system/janitor.ts'
import type { JobLog } from '../system/job-log.ts'
import type { Component } from './foundation.ts'

export interface BackgroundWork {
  /** Starts the janitor and the components, once. */
  start(): Promise<void>
  /** Ends work that may last as long as the requests in flight. */
  drain(): Promise<unknown>
  /** Stops the components in the opposite order. */
  stop(): Promise<void>
}

export function createBackgroundWork(
  log: Log,
  clock: Clock,
  components: readonly Component[],
  jobs: JobLog,
): BackgroundWork {
  let stopJanitor: (() => Promise<void>) | undefined
  return {
    async start() {
      if (stopJanitor) return
      const chores = Object.assign({}, ...components.map((component) => component.chores))
      stopJanitor = startJanitor({ log, chores, clock, jobs })
      for (const component of components) await component.start?.()
    },
    drain: () => Promise.all(components.map((component) => component.drain?.())),
    async stop() {
      await stopJanitor?.()
      for (const component of [...components].reverse()) await component.stop?.()
    },
  }
}
