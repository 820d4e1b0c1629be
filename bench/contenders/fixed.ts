/** Responds with the same bytes to any data: shows the limit of the load generator. */
import { type AddressInfo, createServer } from 'node:net'

const body = '{"hello":"world"}'
const answer = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('data', () => socket.write(answer))
  socket.on('error', () => socket.destroy())
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => process.exit(0))
