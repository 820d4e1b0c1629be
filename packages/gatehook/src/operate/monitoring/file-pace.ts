/**
 * Whether other programs hold the thread of the monitoring file up. It has a low priority beside
 * the requests of the node, and beside other programs as well: where these use every core, it gets
 * a hundredth of one, and requests wait for their lines at the bound of the log. Pure.
 */

/** A command of some milliseconds that has not ended after this time lacks the CPU. */
export const FILE_PATIENCE_MS = 500
/** The thread has the normal priority for this time. */
const STARVED_MS = 60_000
/** A command that takes longer then still competes for the CPU. */
const SLOW_MS = 100
/** The share of a core from which the node itself may be what delays the command. */
const OWN_SHARE = 0.5

interface FileMeters {
  readonly elapsedMs: () => number
  /** The CPU time of all threads of the process. */
  readonly cpuMs: () => number
}

interface FileMeasurement {
  /** Notes that the command has run for `FILE_PATIENCE_MS`. */
  noteSlow(): void
  end(): void
}

export interface FilePace {
  begin(): FileMeasurement
  /** Whether the thread needs the normal priority. */
  isStarved(): boolean
}

export function createFilePace({ elapsedMs, cpuMs }: FileMeters): FilePace {
  let untilMs = Number.NEGATIVE_INFINITY
  const isStarved = () => elapsedMs() < untilMs
  return {
    isStarved,
    begin() {
      const [fromMs, fromCpuMs] = [elapsedMs(), cpuMs()]
      const noteBeyond = (leastMs: number) => {
        const ms = elapsedMs() - fromMs
        const isOwn = cpuMs() - fromCpuMs >= OWN_SHARE * ms
        if (ms >= leastMs && !isOwn) untilMs = elapsedMs() + STARVED_MS
      }
      return {
        noteSlow: () => noteBeyond(FILE_PATIENCE_MS),
        end() {
          if (isStarved()) noteBeyond(SLOW_MS)
        },
      }
    },
  }
}
