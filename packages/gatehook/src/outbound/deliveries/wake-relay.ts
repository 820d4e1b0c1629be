/**
 * Passes wake-ups on: those of this node first to its own engine, and to other nodes only if they
 * send the deliveries.
 */
import type { Log } from '../../kernel/log.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { DeliveryEngine } from './engine.ts'
import { CHANNEL, decodeWakeUp, encodeWakeUp, type WakeUp } from './wake-up.ts'

interface WakeRelayDeps {
  readonly db: Pick<Database, 'notify'>
  readonly log: Log
  /** Names this engine, in letters and digits; unique. */
  readonly node: string
  readonly engine: Pick<DeliveryEngine, 'wake'>
  /** Wakes the loops of the engine that have work. */
  readonly nudge: () => void
}

interface WakeRelay {
  /** Receives a wake-up of this node. */
  wake(wakeUp: WakeUp): Promise<void>
  /** Receives a message of `CHANNEL`; ignores those of this node. */
  receive(message: string): Promise<void>
}

/** Logs failures: the look for due work finds the deliveries. */
export function createWakeRelay({ db, log, node, engine, nudge }: WakeRelayDeps): WakeRelay {
  const wakeEngine = async ({ webhookNos, resends, committed }: WakeUp) => {
    const otherNos = await engine.wake(webhookNos, resends, committed)
    nudge()
    return otherNos
  }
  const logFailure = (error: unknown) =>
    log.warn({ err: error }, 'a wake-up of the engine failed; it looks for the deliveries')
  const notifyOthers = async ({ resends }: WakeUp, webhookNos: readonly number[]) => {
    if (webhookNos.length === 0) return
    const otherResends = resends.filter(({ webhookNo }) => webhookNos.includes(webhookNo))
    await db.notify(CHANNEL, encodeWakeUp({ webhookNos, resends: otherResends, from: node }))
  }
  return {
    wake: (wakeUp) =>
      wakeEngine(wakeUp)
        .then((webhookNos) => notifyOthers(wakeUp, webhookNos))
        .catch(logFailure),
    async receive(message) {
      const wakeUp = decodeWakeUp(message)
      if (wakeUp.from !== node) await wakeEngine(wakeUp).then(() => undefined, logFailure)
    },
  }
}
