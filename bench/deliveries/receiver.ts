/**
 * The receiver of deliveries: answers at once (`counts`) or not at all (`hangs`, but for pings),
 * counts all but pings, tells its port and its count. `stamps`: tells each delivery's time as well.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const [how = 'counts'] = process.argv.slice(2)
let count = 0
const server = createServer((request, response) => {
  const ping = request.headers['gatehook-event'] === 'webhook.ping'
  request.resume().once('end', () => {
    if (how === 'hangs' && !ping) return
    if (!ping) count += 1
    response.end('ok')
    if (how !== 'stamps') return
    const at = performance.timeOrigin + performance.now()
    process.send!({ id: request.headers['webhook-id'], at })
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('message', () => process.send!(count))
