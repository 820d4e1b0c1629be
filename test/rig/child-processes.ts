/** Child processes that end with this process: also by a signal, and at the limit of a test. */
import type { ChildProcess } from 'node:child_process'

const running = new Set<ChildProcess>()

function killRunning(): void {
  for (const child of running) child.kill('SIGKILL')
}

let isPrepared = false

function prepare(): void {
  if (isPrepared) return
  isPrepared = true
  process.once('exit', killRunning)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      // The library of PostgreSQL and the runner of tests end the process themselves.
      if (process.listenerCount(signal) === 0) process.exit(1)
    })
  }
}

/** Returns a process that this one kills at its own end. */
export function bindChild<C extends ChildProcess>(child: C): C {
  prepare()
  running.add(child)
  child.once('exit', () => running.delete(child))
  child.once('error', () => running.delete(child))
  return child
}
