import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '../kernel/random.ts'
import { forwardTarget } from './listen.ts'
import { localSecret } from './local-secret.ts'

test('a target may be a port, a host with a path, or a URL', () => {
  const targets: Record<string, string> = {
    '3000': 'http://127.0.0.1:3000/',
    'localhost:3000/hook': 'http://localhost:3000/hook',
    'http://127.0.0.1:3000/a?b=1': 'http://127.0.0.1:3000/a?b=1',
    'HTTPS://dev.example.com': 'HTTPS://dev.example.com',
  }
  for (const [given, target] of Object.entries(targets)) {
    assert.equal(forwardTarget(given), target)
  }
  assert.equal(forwardTarget(undefined), undefined)
  const unusable = [
    'http://',
    'ftp://localhost',
    '70000',
    'http://me:key@localhost',
    'localhost/#a',
    '/ok',
    '//ok',
    '?a',
    '',
    'http:3000',
    'http:/localhost/',
    'http:\\\\localhost',
    'local host',
  ]
  for (const given of unusable) assert.throws(() => forwardTarget(given), /is no URL to send to/)
})

test('the local secret is generated once, readable by its user only', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-listen-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'data', 'listen.secret')
  const secret = localSecret(file, systemRandom())
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(localSecret(file, systemRandom()), secret)
  assert.deepEqual(
    [readFileSync(file, 'utf8'), statSync(file).mode & 0o777],
    [`${secret}\n`, 0o600],
  )
  chmodSync(file, 0o600)
  writeFileSync(file, 'nonsense')
  assert.throws(() => localSecret(file, systemRandom()), /holds no secret/)
})
