/** A program that receives webhooks, and responds as the test requires. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

export interface Receiver {
  readonly host: string
  readonly url: string
  /** The status of the next responses. */
  status: number
}

/** Starts a receiver for the tests of a file, and stops it after the last one. */
export async function openReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(receiver.status).end('seen'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => void server.close().closeAllConnections())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const receiver: Receiver = { host, url: `http://${host}/hook`, status: 204 }
  return receiver
}
