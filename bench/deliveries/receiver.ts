/**
 * The receiver of deliveries, as cheap as one can be: who is measured is who sends. Plain sockets;
 * a sender has one request on a connection at a time. `counts`: answers at once; `hangs`: not at
 * all, but pings; `stamps`: answers, and tells each delivery's time. Tells its port and, when it is
 * asked, its count, pings left out.
 */
import { type AddressInfo, createServer } from 'node:net'

const [how = 'counts'] = process.argv.slice(2)
const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 04:32:45 GMT\r\nConnection: keep-alive\r\n' +
    'Keep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok',
)
const END_OF_HEAD = '\r\n\r\n'
let count = 0

/** Where the request ends; undefined while it is not whole. */
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
    for (let one = endOf(waiting); one; one = endOf(waiting)) {
      waiting = waiting.subarray(one.end)
      answer(one.head)
    }
  })
  const answer = (head: string) => {
    const ping = head.includes('webhook.ping')
    if (how === 'hangs' && !ping) return
    if (!ping) count += 1
    socket.write(ANSWER)
    if (how !== 'stamps') return
    const at = performance.timeOrigin + performance.now()
    process.send!({ id: /^webhook-id: *(\S+)/im.exec(head)![1], at })
  }
})
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('message', () => process.send!(count))
