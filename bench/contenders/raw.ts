/** `node:http` with a constant response. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const body = Buffer.from('{"hello":"world"}')
const headers = { 'content-type': 'application/json', 'content-length': body.length }

const server = createServer((_, response) => response.writeHead(200, headers).end(body))
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => process.exit(0))
