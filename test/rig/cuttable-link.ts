/** A TCP link to a server whose connections a test cuts or delays, in both directions. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'

export interface CuttableLink {
  /** Returns the address of a database of the server, through the link. */
  through(url: string): string
  /** Resets all connections; new ones succeed. Returns their number. */
  cut(): number
  /** Forwards nothing, on open and on new connections; returns the function that ends it. */
  silence(): () => void
  /**
   * The connections that are open forward nothing more, and the server keeps its ends of them, as
   * behind a firewall that has lost its state. New ones work.
   */
  strand(): void
  /** Delays all bytes from now on, in each direction. */
  delay(ms: number): void
  close(): Promise<void>
}

export async function openCuttableLink(serverUrl: string): Promise<CuttableLink> {
  const { hostname, port } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  const stranded = new WeakSet<Socket>()
  let isSilent = false
  let delayMs = 0
  const delayed = () =>
    new Transform({
      transform(bytes, _encoding, done) {
        if (delayMs === 0) return done(null, bytes)
        setTimeout(() => this.push(bytes), delayMs)
        done()
      },
      flush(done) {
        setTimeout(done, delayMs)
      },
    })
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay(true)
      if (!isSilent) socket.pipe(delayed()).pipe(other)
      socket.once('error', () => other.destroy())
      socket.once('close', () => {
        sockets.delete(socket)
        if (!stranded.has(socket)) other.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = server.address() as { port: number }
  const stop = () => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  const cut = () => {
    const count = sockets.size / 2
    for (const socket of sockets) socket.resetAndDestroy()
    return count
  }
  return {
    through(url) {
      const address = new URL(url)
      address.host = `127.0.0.1:${own.port}`
      return address.href
    },
    cut,
    silence() {
      isSilent = true
      stop()
      return () => {
        isSilent = false
        cut()
      }
    },
    delay(ms) {
      delayMs = ms
    },
    strand() {
      stop()
      for (const socket of sockets) stranded.add(socket)
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      cut()
      await closed
    },
  }
}
