/**
 * Returns reserved requests of customers whose settings have changed, and of all when the node
 * ends. Changes that a node reads together are one transaction.
 */
import { createBackgroundTasks } from '../../kernel/background.ts'
import type { Log } from '../../kernel/log.ts'
import type { Limiter } from './limiter.ts'

interface Reservations {
  /** Notes that the settings of a customer have changed. */
  releaseOf(id: string): void
  /** Returns all, when no more requests arrive. */
  stop(): Promise<void>
}

const FAILURE = 'reserved requests could not be returned'

export function createReservations(release: Limiter['release'], log: Log): Reservations {
  const background = createBackgroundTasks(log)
  let changed = new Set<string>()
  const releaseChanged = async () => {
    await undefined // the other changes that the node reads now
    const customers = changed
    changed = new Set()
    await release(customers)
  }
  return {
    releaseOf(id) {
      if (changed.size === 0) background.add(releaseChanged(), FAILURE)
      changed.add(id)
    },
    async stop() {
      background.add(release(), FAILURE)
      await background.idle()
    },
  }
}
