/** The background work of all components: polls, purges, loops, and their orderly end. */
import { createChoreLease } from '../system/chore-lease.ts'
import { startJanitor } from '../system/janitor.ts'
import type { JobLog } from '../system/job-log.ts'
import type { Component, Foundation } from './foundation.ts'

export interface BackgroundWork {
  /** Starts the janitor, the components and the poll, once. */
  start(): Promise<void>
  /** Ends work that may last as long as the requests in flight. */
  drain(): Promise<unknown>
  /** Stops the components in the opposite order. */
  stop(): Promise<void>
}

interface BackgroundWorkDeps extends Pick<Foundation, 'db' | 'random' | 'clock' | 'log' | 'poll'> {
  readonly components: readonly Component[]
  readonly jobs: JobLog
}

export function createBackgroundWork({
  db,
  random,
  clock,
  log,
  poll,
  components,
  jobs,
}: BackgroundWorkDeps): BackgroundWork {
  const node = random.bytes(16).toString('hex')
  const lease = db.dialect.shared ? createChoreLease(db, clock, node) : undefined
  let stopJanitor: (() => Promise<void>) | undefined
  return {
    async start() {
      if (stopJanitor) return
      const chores = Object.assign({}, ...components.map((component) => component.chores))
      const nodeChores = components.flatMap((component) => component.nodeChores ?? [])
      stopJanitor = startJanitor({ log, chores, nodeChores, lease, clock, jobs })
      for (const component of components) await component.start?.()
      poll.start(components.flatMap((component) => component.polled ?? []))
    },
    drain: () => Promise.all(components.map((component) => component.drain?.())),
    async stop() {
      await Promise.all([poll.stop(), stopJanitor?.()])
      for (const component of [...components].reverse()) await component.stop?.()
    },
  }
}
