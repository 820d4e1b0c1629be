/** §10.4: requests that two servers could frame differently are rejected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request, start, talk } from './rig.ts'

test('a transfer coding other than chunked is rejected', async (t) => {
  const { port } = await start(t)
  const sent = async (coding: string) => {
    const head = ['Content-Type: application/json', `Transfer-Encoding: ${coding}`]
    const [answer] = await talk(port, request('POST /api/orders', ...head), '2\r\n{}\r\n0\r\n\r\n')
    return answer?.status
  }
  assert.equal(await sent('chunked'), 200)
  assert.equal(await sent('Chunked'), 200)
  for (const coding of ['gzip, chunked', 'identity, chunked', 'chunked, chunked', 'x']) {
    assert.equal(await sent(coding), 400, coding)
  }
})

test('the target * is for OPTIONS only', async (t) => {
  const { port } = await start(t)
  for (const method of ['GET', 'POST', 'DELETE']) {
    const [answer] = await talk(port, request(`${method} *`))
    assert.equal(answer?.status, 400, method)
  }
})

test('a target that is not a path matches no route', async (t) => {
  const { port } = await start(t)
  for (const target of ['*api/orders', '*healthz', 'ftp://api.example/api/orders']) {
    const [answer] = await talk(port, request(`GET ${target}`))
    assert.equal(answer?.status, 400, target)
  }
})

test('CONNECT gets a response, and the connection ends', async (t) => {
  const { port } = await start(t)
  for (const target of ['evil.example:443', '/api/orders']) {
    const answers = await talk(port, request(`CONNECT ${target}`), request('GET /healthz'))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [400],
      target,
    )
    assert.equal(answers[0]?.headers.connection, 'close')
  }
})

test('a request before CONNECT gets its response first', async (t) => {
  const { port } = await start(t)
  const before = 'GET /api/orders/7 HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const answers = await talk(port, before + before + request('CONNECT evil.example:443'))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 400],
  )
})

test('a transfer coding of HTTP/1.0 is 400 and ends the connection', async (t) => {
  const { port } = await start(t)
  const head = 'Host: localhost\r\nContent-Type: application/json\r\n'
  for (const connection of ['keep-alive', 'close']) {
    const first = `POST /api/orders HTTP/1.0\r\n${head}Connection: ${connection}\r\n`
    const body = 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'
    const answers = await talk(port, first + body, request('GET /healthz'))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [400],
    )
    assert.equal(answers[0]?.headers.connection, 'close')
  }
})
