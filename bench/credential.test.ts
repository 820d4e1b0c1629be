import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { assertCredentialRequired } from './credential.ts'

const request = { method: 'GET', target: '/rows', headers: { 'x-key': 'right' } } as const

async function checkServer(status: (headers: IncomingHttpHeaders) => number, name = 'x-key') {
  const server = createServer((received, response) => {
    response.writeHead(status(received.headers)).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await assertCredentialRequired(
      name,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      request,
    )
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

test('a server that checks the credential passes', async () => {
  for (const refusal of [401, 403]) {
    await checkServer((headers) => (headers['x-key'] === 'right' ? 200 : refusal))
  }
})

test('a server that does not check the value, or fails without it, is rejected', async () => {
  await assert.rejects(
    checkServer(() => 200),
    /without x-key the response is 200/,
  )
  await assert.rejects(
    checkServer((headers) => ('x-key' in headers ? 200 : 401)),
    /with a wrong x-key the response is 200/,
  )
  await assert.rejects(
    checkServer(() => 500),
    /without x-key the response is 500/,
  )
})

test('a request without the credential is rejected', async () => {
  await assert.rejects(
    checkServer(() => 401, 'authorization'),
    /no request sends authorization/,
  )
})
