/** Receivers on real sockets, and a transport that sends to them. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import type { Outcome } from '../../src/outbound/transport/attempt.ts'
import { createTransport, type TransportOptions } from '../../src/outbound/transport/transport.ts'

export interface Receiver {
  readonly port: number
  readonly url: string
  /** All accepted sockets, in order. */
  readonly sockets: readonly Socket[]
  /** All complete requests as text, in order. */
  readonly requests: readonly string[]
  close(): Promise<void>
}

/** Handles a complete request; `n` counts the requests of one socket from 1. */
export type Behaviour = (socket: Socket, n: number, request: string) => void

export const response = (body: string, status = 200, more: readonly string[] = []): string =>
  [`HTTP/1.1 ${status} Some`, `Content-Length: ${Buffer.byteLength(body)}`, ...more, '', body].join(
    '\r\n',
  )

export interface ReceiverOptions {
  /** Name of a certificate in `fixtures/tls/receivers`. */
  readonly tls?: 'good' | 'other' | 'expired' | 'self-signed' | undefined
  readonly port?: number
  /** Sent as soon as a client connects. */
  readonly greeting?: string
}

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))

/** The authority that signed `good`, `other` and `expired`. */
export const authority = fixture('receivers/authority.crt').toString()

export async function createReceiver(
  t: TestContext,
  behaviour: Behaviour,
  { tls, port: fixedPort = 0, greeting }: ReceiverOptions = {},
): Promise<Receiver> {
  const sockets: Socket[] = []
  const requests: string[] = []
  const serve = (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    if (greeting) socket.write(greeting)
    let text = ''
    let n = 0
    socket.on('data', (chunk) => {
      text += chunk
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (head < 0 || Buffer.byteLength(text.slice(head + 4)) < length) return
      requests.push(text)
      const request = text
      text = ''
      behaviour(socket, ++n, request)
    })
  }
  const pair = tls === 'self-signed' ? 'first' : `receivers/${tls}`
  const server: Server = tls
    ? createTlsServer({ key: fixture(`${pair}.key`), cert: fixture(`${pair}.crt`) }, serve)
    : createServer(serve)
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(fixedPort, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  }
  onEnd(t, close)
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hook?a=1`
  return { port, url, sockets, requests, close }
}

export function createTestTransport(t: TestContext, options: Partial<TransportOptions> = {}) {
  const clock = { elapsedMs: () => performance.now() }
  const created = createTransport({ clock, allowPrivate: true, timeoutMs: 60_000, ...options })
  onEnd(t, () => created.close())
  const post = (url: string, body = '{}', timeoutMs?: number): Promise<Outcome> =>
    created.send({ url, body, headers: { 'Content-Type': 'application/json' }, timeoutMs })
  return { ...created, post }
}

/** Returns the status of a response, or the reason of a failure. */
export const statusOrReason = (outcome: Outcome): number | string =>
  outcome.kind === 'answered' ? outcome.status : outcome.reason
