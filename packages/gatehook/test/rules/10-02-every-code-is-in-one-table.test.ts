/**
 * §10.2: one table lists every code, and the documents repeat it. Some statuses have a header that
 * states the remedy. The format of errors is §10.1.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { failures } from '../../src/kernel/failure.ts'

const repository = new URL('../../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8')
const codes = Object.keys(failures).sort()
const statuses = Object.fromEntries(codes.map((code) => [code, failures[code as 'conflict'][0]]))

test('OpenAPI and the page of errors list exactly the codes of the table', () => {
  for (const version of ['v1', 'v2']) {
    const { schemas } = JSON.parse(read(`spec/openapi/${version}.json`)).components
    assert.deepEqual([...schemas.ErrorCode.enum].sort(), codes, version)
  }
  const row = /^\| (\d{3}) \| <a id="[a-z_]+"><\/a>`([a-z_]+)`[^|]*\|/gm
  const page = [...read('docs/reference/errors.md').matchAll(row)]
  const documented = page.map(([, status, code]) => [code!, Number(status)] as const)
  assert.deepEqual(Object.fromEntries(documented), statuses)
})

eachService('405 and 415 list the supported methods and types', async ({ send, as }) => {
  const method = await send('PUT', '/api/v2/users', {})
  assert.deepEqual([method.status, method.headers.allow], [405, 'GET, HEAD, POST, OPTIONS'])
  const xml = { 'content-type': 'text/xml' }
  const type = await send('POST', '/api/v2/users', '<user/>', xml)
  assert.deepEqual([type.status, type.headers.accept], [415, 'application/json'])
  const stranger = await as(undefined).get('/api/v2/users')
  assert.equal(stranger.status, 401)
  assert.match(stranger.headers['www-authenticate'] ?? '', /Bearer/)
})

eachService(
  'a 429 has Retry-After',
  async ({ get }) => {
    assert.equal((await get('/api/v2/users')).status, 200)
    const { status, headers, body } = await get('/api/v2/users')
    assert.deepEqual([status, body.error], [429, 'rate_limited'])
    assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/)
  },
  { env: { GATEHOOK_RATE_LIMIT: '1/3600' } },
)
