import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { drive, type Wire } from './drive.ts'

const wires: Wire[] = ['/a', '/b', '/c'].map((path) => ({
  bytes: Buffer.from(`GET ${path} HTTP/1.1\r\nhost: bench\r\n\r\n`),
  bodiless: false,
}))

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  after(() => server.closeAllConnections())
  after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

test('sends exactly `count` requests, from the start index', async () => {
  const paths: string[] = []
  const port = await serve((request, response) => {
    paths.push(request.url!)
    response.end(request.url)
  })
  const outcome = await drive(port, wires, 1, { connections: 1, count: 5, samples: 9 })
  assert.deepEqual(paths, ['/b', '/c', '/a', '/b', '/c'])
  assert.equal(outcome.answers, 5)
  assert.equal(outcome.next, 0)
  assert.deepEqual(outcome.statuses, { 200: 5 })
  assert.deepEqual(outcome.errors, {})
  assert.ok(outcome.samples.length > 1)
  for (const { index, body } of outcome.samples) assert.equal(body, ['/a', '/b', '/c'][index])
})

test('after `Connection: close` the run continues on new connections', async () => {
  const port = await serve((_, response) => response.setHeader('connection', 'close').end('bye'))
  const outcome = await drive(port, wires, 0, { connections: 3, count: 30, samples: 0 })
  assert.equal(outcome.answers, 30)
  assert.deepEqual(outcome.errors, {})
})

test('a connection that closes during a request is an error, and the run continues', async () => {
  let requestCount = 0
  const port = await serve((request, response) => {
    if (++requestCount === 2) request.socket.destroy()
    else response.end('fine')
  })
  const outcome = await drive(port, wires, 0, { connections: 1, count: 4, samples: 0 })
  assert.equal(outcome.answers, 3)
  assert.equal(
    Object.values(outcome.errors).reduce((sum, count) => sum + count, 0),
    1,
  )
})

test('statuses are counted separately', async () => {
  const port = await serve((request, response) => {
    response.statusCode = request.url === '/b' ? 500 : 200
    response.end()
  })
  const outcome = await drive(port, wires, 0, { connections: 1, count: 6, samples: 0 })
  assert.deepEqual(outcome.statuses, { 200: 4, 500: 2 })
})
