/** §2.3: TLS by the process, with HSTS. Certificates that change are in `../http/tls.test.ts`. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { serving } from '../cli/process.ts'

const HSTS = 'max-age=31536000; includeSubDomains'
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

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
