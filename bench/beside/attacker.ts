/** The attacking process: starts an attack by its name and ends it on `stop`. */
import { setPriority } from 'node:os'
import { attacks, type Target } from './attacks.ts'

export type Order = { readonly attack: string; readonly target: Target } | 'stop'

/** Lowest priority: a real attacker would not share the cores of the service. */
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
