/**
 * The log brought to the disk after the answer instead of before it, for writes of which nobody is
 * told and which are done again where they are missing. A commit outlives the process that made it;
 * only a machine that stops may lose the last ones, and then the last ones only.
 */
import { setTimeout as pause } from 'node:timers/promises'

export interface LateSync {
  /** Something was committed. Throws when an earlier sync has failed. */
  soon(): Promise<void>
  /** Resolves when all that was committed is on disk, or cannot be brought there. */
  done(): Promise<void>
}

export function lateSync(sync: () => Promise<void>, afterMs: number): LateSync {
  let due = false
  let running: Promise<void> | undefined
  let failure: { readonly error: unknown } | undefined
  const run = async () => {
    while (due) {
      await pause(afterMs)
      due = false // what is committed while the sync runs is covered by the next
      await sync()
    }
    running = undefined
  }
  return {
    async soon() {
      if (failure) throw failure.error
      due = true
      running ??= run().catch((error: unknown) => {
        failure = { error }
      })
    },
    async done() {
      await running
    },
  }
}
