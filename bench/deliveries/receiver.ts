/**
 * A cheap receiver of deliveries on plain sockets; a sender has one request per connection in
 * flight. `counts` responds at once, `hangs` responds to pings only, `stamps` also reports the time
 * of each delivery. It sends its port and, for each message, its count without pings.
 */
import { type AddressInfo, createServer } from 'node:net'

const [mode = 'counts'] = process.argv.slice(2)
const RESPONSE = Buffer.from(
  'HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 04:32:45 GMT\r\nConnection: keep-alive\r\n' +
    'Keep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok',
)
const END_OF_HEAD = '\r\n\r\n'
let count = 0

/** Returns the end of the first request; undefined while it is incomplete. */
function endOf(bytes: Buffer): { readonly end: number; readonly head: string } | undefined {
  const at = bytes.indexOf(END_OF_HEAD)
  if (at < 0) return undefined
  const head = bytes.toString('latin1', 0, at)
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  const end = at + END_OF_HEAD.length + length
  return bytes.length < end ? undefined : { end, head }
}

const server = createServer({ noDelay: true }, (socket) => {
  let waiting: Buffer = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk])
    for (let request = endOf(waiting); request; request = endOf(waiting)) {
      waiting = waiting.subarray(request.end)
      respond(request.head)
    }
  })
  const respond = (head: string) => {
    const ping = head.includes('webhook.ping')
    if (mode === 'hangs' && !ping) return
    if (!ping) count += 1
    socket.write(RESPONSE)
    if (mode !== 'stamps') return
    const at = performance.timeOrigin + performance.now()
    process.send!({ id: /^webhook-id: *(\S+)/im.exec(head)![1], at })
  }
})
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('message', () => process.send!(count))
