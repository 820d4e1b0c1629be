/**
 * §2.3: HTTPS by a named proxy, or by the process itself (`2-03-the-process-serves-tls.test.ts`);
 * plain HTTP on loopback only.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { gatehook } from '../cli/command.ts'

const HSTS = 'max-age=31536000; includeSubDomains'

test('plain HTTP on another address than loopback prevents the start with a reason', async (t) => {
  const { exit, stderr } = await gatehook({ cwd: emptyFolder(t) }, 'start', '--host', '0.0.0.0')
  assert.equal(exit, 78)
  assert.match(stderr, /GATEHOOK_HOST is 0\.0\.0\.0, where plain HTTP would carry keys/)
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
