/** The background work of all components: polls, purges, loops, and their orderly end. */

import { isHeld } from '../operate/restore/state.ts'
import { createChoreLease } from '../operate/system/chore-lease.ts'
import { type Chores, startJanitor } from '../operate/system/janitor.ts'
import type { JobLog } from '../operate/system/job-log.ts'
import { runDueLanes } from '../platform/jobs/due-jobs.ts'
import type { JobFigures } from '../platform/jobs/runner.ts'
import type { Component, Foundation } from './foundation.ts'

export interface BackgroundWork {
  /** Starts the janitor, the components and the poll, once. */
  start(): Promise<void>
  /** Purges, and runs jobs until none is due, without background work. Returns the attempts. */
  runDue(): Promise<JobFigures['attempts']>
  /** Ends work that may last as long as the requests in flight. */
  drain(): Promise<unknown>
  /** Stops the components in the opposite order. */
  stop(): Promise<void>
}

interface BackgroundWorkDeps
  extends Pick<Foundation, 'db' | 'random' | 'clock' | 'log' | 'poll' | 'restore' | 'mayPurge'> {
  readonly components: readonly Component[]
  readonly jobs: JobLog
}

const HELD = 'deliveries, jobs and mail are held until: gatehook restore release'
const RELEASED = 'deliveries, jobs and mail were released'

/** A clock that may be wrong does not hold these. */
const PURGE_NOTHING: ReadonlySet<string> = new Set(['audit', 'postponed', 'postponed_jobs'])

const choresOf = (components: readonly Component[]): Chores =>
  Object.assign({}, ...components.map(({ chores }) => chores))

export function createBackgroundWork({
  db,
  random,
  clock,
  log,
  poll,
  restore,
  components,
  jobs,
  mayPurge,
}: BackgroundWorkDeps): BackgroundWork {
  const node = random.bytes(16).toString('hex')
  const lease = createChoreLease(db, clock, node)
  let stopJanitor: (() => Promise<void>) | undefined
  const running = new Set<Component>()
  const start = async (component: Component) => {
    if (running.has(component)) return
    running.add(component)
    await component.start?.()
  }
  const follow = () => poll.start(components.flatMap((component) => component.polled ?? []))
  /** Starts or ends the work that leaves the machine, when restored data is released or held. */
  const applyHold = async (held: boolean) => {
    for (const component of components.filter(({ isOutward }) => isOutward)) {
      if (!held) await start(component)
      else if (running.delete(component)) {
        await component.drain?.()
        await component.stop?.()
      }
    }
    follow()
    log.warn(held ? HELD : RELEASED)
  }
  let change = Promise.resolve()
  restore.onChange((held) => {
    if (!stopJanitor) return
    change = change
      .then(() => applyHold(held))
      .catch((error: unknown) => log.error({ err: error }, 'work that leaves the machine'))
  })
  return {
    async start() {
      if (stopJanitor) return
      const chores = choresOf(components)
      const mayRun = (chore: string) => PURGE_NOTHING.has(chore) || mayPurge()
      const nodeChores = components.flatMap((component) => component.nodeChores ?? [])
      stopJanitor = startJanitor({ log, chores, nodeChores, lease, clock, jobs, mayRun })
      const isHeldNow = isHeld(restore.current())
      if (isHeldNow) log.warn(HELD)
      for (const component of components) {
        if (!(isHeldNow && component.isOutward)) await start(component)
      }
      follow()
    },
    async runDue() {
      for (const purge of Object.values(choresOf(components))) await purge()
      const isHeldNow = isHeld(restore.current())
      const active = components.filter(({ isOutward }) => !(isHeldNow && isOutward))
      return runDueLanes(active.flatMap(({ runDue }) => runDue ?? []))
    },
    drain: () => Promise.all(components.map((component) => component.drain?.())),
    async stop() {
      await Promise.all([poll.stop(), stopJanitor?.()])
      await change
      for (const component of [...components].reverse()) await component.stop?.()
    },
  }
}
