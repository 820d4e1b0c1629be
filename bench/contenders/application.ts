/** The application of row 28: `node:http` with a constant response. */
import { createServer } from 'node:http'
import { PORT } from './upstream/port.ts'

const body = Buffer.from('{"hello":"world"}')
const headers = { 'content-type': 'application/json', 'content-length': body.length }

const server = createServer((_, response) => response.writeHead(200, headers).end(body))
server.listen(PORT, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${PORT}` })}\n`)
})
process.once('SIGTERM', () => process.exit(0))
