/**
 * How long password hashes wait for the CPU. They have a low priority beside the requests of the
 * node (decision 0012), and beside other programs as well: where these use every core, a hash at
 * that priority gets a hundredth of one. It then needs the normal one. Pure except for the meters.
 */
import { wallClock } from '../../kernel/clock.ts'

/** A hash takes 25 ms; one that has not ended after this time lacks the CPU. */
export const HASH_PATIENCE_MS = 1_000
/** A hash that takes longer is slow for the person who signs in. */
const SLOW_MS = 2_000
/** The state lasts for this time: while it does, hashes have the normal priority. */
const STARVED_MS = 60_000
/** The share of a core from which the node itself may be what delays the hash. */
const OWN_SHARE = 0.5
/** A hash that takes this many times its CPU time competes for the CPU. */
const CONTENDED = 2

export interface HashTimes {
  readonly elapsedMs: number
  readonly cpuMs: number
}

interface Meters {
  readonly elapsedMs: () => number
  /** The CPU time of all threads of the process. */
  readonly cpuMs: () => number
}

interface HashMeasurement {
  /** Says whether other programs hold a hash up that has run for `HASH_PATIENCE_MS`. */
  isStarving(): boolean
  /** Receives the times of the hash, as its thread has measured them. */
  end(times: HashTimes): void
}

export interface HashPace {
  begin(): HashMeasurement
  /** Whether other programs have held hashes up in the last minute. */
  isStarved(): boolean
  /** Returns the last hash, unless it is older than a minute or was fast. */
  slow(): HashTimes | undefined
  /** Of all hashes since the start. */
  totals(): HashTimes & { readonly count: number }
}

export function createHashPace({ elapsedMs, cpuMs }: Meters): HashPace {
  let starvedUntilMs = Number.NEGATIVE_INFINITY
  let last: (HashTimes & { readonly atMs: number }) | undefined
  let totals = { count: 0, elapsedMs: 0, cpuMs: 0 }
  const noteStarved = () => {
    starvedUntilMs = elapsedMs() + STARVED_MS
  }
  const isStarved = () => elapsedMs() < starvedUntilMs
  return {
    begin() {
      const [fromMs, fromCpuMs] = [elapsedMs(), cpuMs()]
      /** Returns the share of a core that the process has used, without the hash. */
      const ownShare = (hashCpuMs: number) =>
        (cpuMs() - fromCpuMs - hashCpuMs) / (elapsedMs() - fromMs)
      return {
        isStarving() {
          // The event loop of a node that was paused, or whose code blocks, comes late.
          const isLate = elapsedMs() - fromMs >= 2 * HASH_PATIENCE_MS
          if (isLate || ownShare(0) >= OWN_SHARE) return false
          noteStarved()
          return true
        },
        end(times) {
          const isContended = times.elapsedMs >= CONTENDED * times.cpuMs
          if (isStarved() && isContended && ownShare(times.cpuMs) < OWN_SHARE) noteStarved()
          last = { ...times, atMs: elapsedMs() }
          totals = {
            count: totals.count + 1,
            elapsedMs: totals.elapsedMs + times.elapsedMs,
            cpuMs: totals.cpuMs + times.cpuMs,
          }
        },
      }
    },
    isStarved,
    slow() {
      if (!last || elapsedMs() - last.atMs >= STARVED_MS) return undefined
      return last.elapsedMs >= SLOW_MS ? last : undefined
    },
    totals: () => totals,
  }
}

/** Of this process, whose hashers share the threads. */
export const hashPace: HashPace = createHashPace({
  elapsedMs: () => wallClock.elapsedMs(),
  cpuMs() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
})
