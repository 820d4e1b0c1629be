/**
 * Loads the transport at its first use: undici takes 25 MB and 70 ms at start, and many nodes never
 * send a request.
 */
import type { Send } from './attempt.ts'
import type { Transport, TransportOptions } from './transport.ts'

interface LazyTransport extends Pick<Transport, 'close'> {
  readonly send: Send
  /** Loads the transport now. @throws The error of an invalid option. */
  open(): Promise<void>
}

export function createLazyTransport(options: TransportOptions): LazyTransport {
  let loading: Promise<Transport> | undefined
  let transport: Transport | undefined
  let isClosed = false
  const load = async (): Promise<Transport> => {
    const { createTransport } = await import('./transport.ts')
    transport = createTransport(options)
    if (isClosed) transport.close()
    return transport
  }
  const get = () => {
    loading ??= load()
    return loading
  }
  return {
    send: (request, signal) =>
      transport?.send(request, signal) ?? get().then(({ send }) => send(request, signal)),
    async open() {
      await get()
    },
    close() {
      isClosed = true
      void loading?.then(({ close }) => close())
    },
  }
}
