/**
 * §2.3: HTTPS by the process itself or by a named proxy; plain HTTP on loopback only. Certificates
 * that change are in `../http/tls.test.ts`.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { gatehook, serving } from '../cli/process.ts'

const HSTS = 'max-age=31536000; includeSubDomains'
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

test('plain HTTP on another address than loopback prevents the start with a reason', async (t) => {
  const { exit, stderr } = await gatehook({ cwd: emptyFolder(t) }, 'start', '--host', '0.0.0.0')
  assert.equal(exit, 78)
  assert.match(stderr, /GATEHOOK_HOST is 0\.0\.0\.0, where plain HTTP would carry keys/)
})

test('the process serves TLS with HSTS', async (t) => {
  const env = {
    GATEHOOK_TLS_CERT: fixture('first.crt'),
    GATEHOOK_TLS_KEY: fixture('first.key'),
  }
  const { url } = await serving(t, { cwd: emptyFolder(t), env }, '--no-seed')
  assert.match(url, /^https:/)
  const ca = readFileSync(fixture('first.crt'))
  const headers = await new Promise<NodeJS.Dict<string | string[]>>((resolve, reject) => {
    const call = get(`${url}/healthz`, { ca, servername: 'localhost', agent: false }, (answer) => {
      answer.resume()
      resolve(answer.headers)
    })
    call.once('error', reject)
  })
  assert.equal(headers['strict-transport-security'], HSTS)
})

const http = { 'x-forwarded-proto': 'http' }
const https = { 'x-forwarded-proto': 'https' }

eachService(
  'plain HTTP to a trusted proxy is rejected, not redirected',
  async ({ get }) => {
    const refused = await get('/api/v2/users', http)
    assert.deepEqual([refused.status, refused.body.error], [403, 'https_required'])
    assert.equal(refused.headers.location, undefined)
    assert.equal((await get('/healthz', http)).status, 200)
    const served = await get('/api/v2/users', https)
    assert.deepEqual([served.status, served.headers['strict-transport-security']], [200, HSTS])
  },
  { env: { GATEHOOK_TRUST_PROXY: '127.0.0.1' } },
)

eachService(
  'forwarded headers of other peers are ignored, and an unknown host is 421',
  async ({ get }) => {
    const plain = await get('/api/v2/users', https)
    assert.deepEqual([plain.status, plain.headers['strict-transport-security']], [200, undefined])
    assert.equal((await get('/api/v2/users', http)).status, 200)
    const foreign = await get('/api/v2/users', { host: 'evil.example' })
    assert.deepEqual([foreign.status, foreign.body.error], [421, 'misdirected_request'])
    assert.equal((await get('/healthz', { host: 'evil.example' })).status, 200)
  },
)
