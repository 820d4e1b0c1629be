/**
 * The last contact with the primary of PostgreSQL. It decides whether a standby may serve reads
 * while the primary is away, and which position the standby needs (decision 0057).
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'

export interface PrimaryPosition {
  /** The end of the log. */
  readonly position: bigint
  /** The end of the log on disk: it contains every acknowledged commit. */
  readonly flushed: bigint
}

export interface PrimaryContact {
  /** Notes a position of the primary that was current at `atMs`. */
  store(current: PrimaryPosition, atMs: number): void
  /** Notes that no primary answers. */
  lose(): void
  isLost(): boolean
  /**
   * Returns the position that a standby needs to serve reads now; undefined while the primary is
   * available, and once it has been away for too long.
   */
  outagePosition(): bigint | undefined
}

interface ContactOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
  /** The longest time between the last contact and a read from a standby. */
  readonly outageMs: number
}

export function createPrimaryContact({ clock, log, outageMs }: ContactOptions): PrimaryContact {
  let last: { readonly flushed: bigint; readonly atMs: number } | undefined
  let isLost = false
  return {
    store({ flushed }, atMs) {
      if (isLost) log.info('the primary database is available again')
      isLost = false
      last = { flushed, atMs }
    },
    lose() {
      if (!isLost) log.warn('the primary database is away; replicas serve reads')
      isLost = true
    },
    isLost: () => isLost,
    outagePosition() {
      if (!isLost || !last || clock.elapsedMs() - last.atMs > outageMs) return undefined
      return last.flushed
    },
  }
}
