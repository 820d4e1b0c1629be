/** The process that attacks: starts an attack when it receives its name, and ends it on `stop`. */
import { setPriority } from 'node:os'
import { attacks, type Target } from './attacks.ts'

export type Order = { readonly attack: string; readonly target: Target } | 'stop'

/** The generator shares the cores with the service: an attacker brings a machine of its own. */
setPriority(10)

let stop = () => {}

process.on('message', async (order: Order) => {
  if (order === 'stop') return stop()
  const control = new AbortController()
  stop = () => control.abort()
  process.send?.('begun')
  await attacks[order.attack]!(order.target, control.signal).catch((error: unknown) => {
    console.error(`${order.attack}: ${error}`)
  })
  process.send?.('ended')
})
