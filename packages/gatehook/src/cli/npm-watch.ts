/**
 * Ends a command that npm runs (`npx gatehook start`, `npm start`) when npm has ended. Between them
 * is a shell, which ends at a signal without its command, and survives npm.
 */
import { readFileSync } from 'node:fs'
import { isCommandOfNpm } from '../platform/config/environment.ts'

const CHECK_EVERY_MS = 500

/** Returns the parent of a shell on Linux; undefined of another program or system. */
function parentOfShell(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return /^\d+ \((?:sh|dash|bash)\) \S (\d+)/.exec(stat)?.[1]
  } catch {
    return undefined
  }
}

/** Returns the ids of the shell and of npm; of npm alone if the shell has replaced itself. */
const ancestors = (): string => `${process.ppid} ${parentOfShell(process.ppid)}`

let timer: NodeJS.Timeout | undefined

/** Sends SIGTERM to this process once npm, or the shell between them, has ended. */
export function endWithNpm(): void {
  if (!isCommandOfNpm()) return
  const first = ancestors()
  timer = setInterval(() => {
    if (ancestors() === first) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, CHECK_EVERY_MS)
  timer.unref()
}

/** Ends the watch: a signal to the process group ends the shell too, and must not drain twice. */
export const outliveNpm = (): void => clearInterval(timer)
