/**
 * Loads the transport at its first use: undici takes 25 MB and 70 ms at start, and many nodes never
 * send a request.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Send } from './attempt.ts'
import type { Transport, TransportOptions } from './transport.ts'
import type { Upstreams } from './upstreams.ts'

interface LazyTransport extends Pick<Transport, 'close' | 'guardedFetch'> {
  readonly send: Send
  /** Loads the transport now. @throws The error of an invalid option. */
  open(): Promise<void>
}

export function createLazyTransport(options: TransportOptions): LazyTransport {
  let loading: Promise<Transport> | undefined
  const load = () => {
    loading ??= import('./transport.ts').then(({ createTransport }) => createTransport(options))
    return loading
  }
  return {
    send: async (request, signal) => (await load()).send(request, signal),
    guardedFetch: async (...request) => (await load()).guardedFetch(...request),
    async open() {
      await load()
    },
    close: () => void loading?.then(({ close }) => close()),
  }
}

/** Returns upstreams that load the transport at the first request. */
export function createLazyUpstreams(clock: Pick<Clock, 'elapsedMs'>) {
  let loading: Promise<Upstreams> | undefined
  const send: Upstreams['send'] = async (...request) => {
    loading ??= import('./upstreams.ts').then(({ createUpstreams }) => createUpstreams(clock))
    return (await loading).send(...request)
  }
  return { send, close: async () => (await loading)?.close() }
}
