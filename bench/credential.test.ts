import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { assertAskedFor } from './credential.ts'

const ask = { method: 'GET', target: '/rows', headers: { 'x-key': 'right' } } as const

async function judged(status: (headers: IncomingHttpHeaders) => number, name = 'x-key') {
  const server = createServer((request, response) => {
    response.writeHead(status(request.headers)).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await assertAskedFor(name, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ask)
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

test('one that checks the credential passes', async () => {
  for (const refusal of [401, 403]) {
    await judged((headers) => (headers['x-key'] === 'right' ? 200 : refusal))
  }
})

test('one that is open, looks only whether it is there, or breaks without it: no', async () => {
  await assert.rejects(
    judged(() => 200),
    /without x-key the answer is 200/,
  )
  await assert.rejects(
    judged((headers) => ('x-key' in headers ? 200 : 401)),
    /with a wrong x-key the answer is 200/,
  )
  await assert.rejects(
    judged(() => 500),
    /without x-key the answer is 500/,
  )
})

test('a request that sends no credential proves nothing', async () => {
  await assert.rejects(
    judged(() => 401, 'authorization'),
    /no request sends authorization/,
  )
})
