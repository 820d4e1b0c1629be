import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Answer, Call } from './call.ts'
import { createCors } from './cors.ts'

const createCall = (method: string, headers: Record<string, string>): Call =>
  ({ method, headers, allow: 'GET, HEAD, POST, OPTIONS', out: {} }) as unknown as Call

const preflight = (origins: string | undefined, origin: string) => {
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,x-custom',
  }
  const request = createCall('OPTIONS', headers)
  const cors = createCors(origins)
  const answer = cors.preflight(request) as Answer
  void cors.addHeaders(request, answer)
  return { answer, headers: { ...request.out, ...answer.headers } as Record<string, string> }
}

const outOf = (origins: string | undefined, headers: Record<string, string>) => {
  const request = createCall('GET', headers)
  void createCors(origins).addHeaders(request, { status: 200 })
  return request.out
}

test('a preflight is 204, and its headers state which origins are allowed', () => {
  const { answer, headers } = preflight('https://a.example, https://b.example', 'https://b.example')
  assert.equal(answer.status, 204)
  assert.equal(headers['access-control-allow-origin'], 'https://b.example')
  assert.equal(headers['access-control-allow-methods'], 'GET, HEAD, POST, OPTIONS')
  assert.equal(headers['access-control-allow-headers'], 'authorization,x-custom')
  assert(Number(headers['access-control-max-age']) > 0)
  assert.equal(headers.vary, 'Origin')

  for (const origins of [undefined, '', 'https://a.example']) {
    const other = preflight(origins, 'https://evil.example')
    assert.equal(other.answer.status, 204)
    assert.deepEqual(
      Object.keys(other.headers).filter((name) => name.startsWith('access-control')),
      [],
    )
  }
})

test('with *, credentials are not allowed', () => {
  const { headers } = preflight('*', 'https://any.example')
  assert.equal(headers['access-control-allow-origin'], '*')
  assert.equal(headers['access-control-allow-credentials'], undefined)
  const both = outOf('https://a.example, *', { origin: 'https://a.example' })
  assert.equal(both['access-control-allow-credentials'], undefined)
  const listed = outOf('https://a.example', { origin: 'https://a.example' })
  assert.equal(listed['access-control-allow-credentials'], 'true')
})

test('responses vary by Origin if origins are listed', () => {
  assert.deepEqual(outOf('https://a.example', {}), { vary: 'Origin' })
  assert.deepEqual(outOf('https://a.example', { origin: 'null' }), { vary: 'Origin' })
  assert.deepEqual(outOf(undefined, { origin: 'https://a.example' }), {})
  const expose = outOf('*', { origin: 'https://a.example' })['access-control-expose-headers']
  const page = readFileSync(
    new URL('../../../../../docs/reference/http.md', import.meta.url),
    'utf8',
  )
  const [, table = ''] = /\| header \| on \| meaning \|\n.*\n((?:\|.*\n)+)/.exec(page) ?? []
  const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([\w-]+)/g)].map(([, name]) => name!),
  )
  assert.ok(named.includes('WWW-Authenticate') && named.length > 20, named.join())
  for (const name of named) assert(expose?.split(', ').includes(name), name)
})

test('OPTIONS without Access-Control-Request-Method is no preflight', () => {
  const { preflight: step } = createCors('*')
  assert.equal(step(createCall('OPTIONS', { origin: 'https://a.example' })), undefined)
  assert.equal(
    step(createCall('GET', { 'access-control-request-method': 'GET', origin: 'x' })),
    undefined,
  )
})

test('a malformed list of headers is not echoed', () => {
  const request = createCall('OPTIONS', {
    origin: 'https://a.example',
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'x-a; evil',
  })
  const answer = createCors('*').preflight(request) as Answer
  assert.match(answer.headers?.['access-control-allow-headers'] ?? '', /^Authorization, /)
})
