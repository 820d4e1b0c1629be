/** A server of PostgreSQL that accepts TLS: the link ends it before a server without TLS. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
}

export interface TlsLink {
  /** Returns the address of a database of the server, through the link. */
  through(url: string): string
  /** Presents another certificate on new connections. */
  use(certificate: Certificate): void
  /** Resets all connections; new ones succeed. */
  cut(): void
  close(): Promise<void>
}

export async function openTlsLink(serverUrl: string, first: Certificate): Promise<TlsLink> {
  const { hostname, port } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let certificate = first
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    // The first packet of a client is its request of TLS.
    socket.once('data', () => {
      const near = new TLSSocket(socket, { isServer: true, ...certificate })
      const far = connect(Number(port), hostname)
      near.on('error', () => far.destroy())
      near.once('close', () => far.destroy())
      far.on('error', () => socket.destroy())
      far.once('close', () => socket.destroy())
      near.pipe(far)
      far.pipe(near)
      socket.write('S')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = server.address() as { port: number }
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    through(url) {
      const address = new URL(url)
      address.host = `127.0.0.1:${own.port}`
      return address.href
    },
    use(next) {
      certificate = next
    },
    cut,
    async close() {
      const closed = once(server, 'close')
      server.close()
      cut()
      await closed
    },
  }
}
