/** The receiver of deliveries: answers at once, counts, tells its port and its count. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

let count = 0
const server = createServer((request, response) => {
  request.resume().once('end', () => {
    count += 1
    response.end('ok')
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('message', () => process.send!(count))
