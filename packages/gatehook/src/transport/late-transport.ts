/**
 * The door to receivers, opened when somebody first goes through it: `undici` takes 25 MB and 70 ms
 * of a start, and many nodes never send anything. What it does is `transport.ts`.
 */
import type { Send } from './attempt.ts'
import type { Transport, TransportOptions } from './transport.ts'

export interface LateTransport extends Pick<Transport, 'close'> {
  readonly send: Send
  /** Opens it now; throws what is wrong with its options. */
  open(): Promise<void>
}

export function lateTransport(options: TransportOptions): LateTransport {
  let opened: Promise<Transport> | undefined
  let transport: Transport | undefined
  let closed = false
  const opening = async (): Promise<Transport> => {
    const { createTransport } = await import('./transport.ts')
    transport = createTransport(options)
    if (closed) transport.close()
    return transport
  }
  const get = () => {
    opened ??= opening()
    return opened
  }
  return {
    send: (request, signal) =>
      transport?.send(request, signal) ?? get().then((one) => one.send(request, signal)),
    async open() {
      await get()
    },
    close() {
      closed = true
      void opened?.then((transport) => transport.close())
    },
  }
}
