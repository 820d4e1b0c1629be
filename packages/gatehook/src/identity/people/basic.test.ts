import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../kernel/failure.ts'
import { createLookupCache } from '../../kernel/lookup-cache.ts'
import { type Principal, scopeOf } from '../../kernel/principal.ts'
import { systemRandom } from '../../kernel/random.ts'
import { Vault } from '../../kernel/secret.ts'
import type { Call } from '../../protocol/http/call.ts'
import type { Credential } from '../access/credential.ts'
import { type BasicAccount, createBasic } from './basic.ts'

const principal: Principal = {
  customer: 'cus_default',
  mode: 'test',
  scope: scopeOf(1, 'test'),
  kind: 'person',
  subject: '7',
  scopes: new Set(),
}

/** One account with the password `good`; `count` counts hashes and lookups. */
function openBasic() {
  const time = { ms: 0 }
  const clock = { now: () => 0, elapsedMs: () => time.ms }
  const count = { hashes: 0, lookups: 0 }
  const account = { revision: 1, suspended: false, exists: true }
  const accounts = createLookupCache<number, BasicAccount>({
    load: async () => {
      count.lookups += 1
      const { exists, revision, suspended } = account
      return exists ? { principal, revision, suspended } : undefined
    },
    clock,
  })
  const basic = createBasic({
    vault: new Vault('a master secret of enough characters', systemRandom()),
    clock,
    allowedRanges: ['127.0.0.0/8'],
    accounts,
    names: 'installation',
    async signIn(_username, password) {
      count.hashes += 1
      if (password !== 'good') throw new Failure('invalid_credentials')
      return { id: 7, revision: account.revision }
    },
  })
  const pair = (password: string): Credential => ({
    scheme: 'basic',
    value: Buffer.from(`ada:${password}`).toString('base64'),
    inUrl: false,
  })
  const call = { address: '127.0.0.1' } as Call
  return {
    time,
    count,
    account,
    basic,
    call,
    pair,
    verify: (password = 'good') => basic.verify(pair(password), call),
  }
}

const minutes = (count: number) => count * 60_000

test('§3.4 a verified pair is hashed once in five minutes', async () => {
  const { time, count, verify } = openBasic()
  assert.equal(await verify(), principal)
  for (let n = 0; n < 100; n++) assert.equal(verify(), principal, 'from the cache')
  assert.deepEqual(count, { hashes: 1, lookups: 1 })
  time.ms = minutes(5) - 1
  await verify()
  assert.equal(count.hashes, 1)
  time.ms = minutes(5)
  await verify()
  assert.equal(count.hashes, 2)
})

test('a wrong pair is not cached', async () => {
  const { count, verify, basic, call, pair } = openBasic()
  for (let n = 0; n < 3; n++) {
    await assert.rejects(async () => verify('bad'), { code: 'invalid_credentials' })
  }
  assert.equal(count.hashes, 3)
  assert.throws(() => basic.verifyCached(pair('bad'), call), { code: 'invalid_credentials' })
})

test('a changed account is hashed again; a suspended customer is 403', async () => {
  const { time, count, account, verify } = openBasic()
  await verify()
  account.revision = 2
  time.ms += 1000
  assert.equal(await verify(), principal)
  assert.equal(count.hashes, 2)
  account.suspended = true
  time.ms += 1000
  await assert.rejects(async () => verify(), { code: 'customer_suspended' })
  account.suspended = false
  account.exists = false
  time.ms += 1000
  await assert.rejects(async () => verify(), { code: 'invalid_credentials' })
})

test('verifyCached accepts a pair while it is cached, and hashes no password', async () => {
  const { time, count, account, verify, basic, call, pair } = openBasic()
  assert.throws(() => basic.verifyCached(pair('good'), call), { code: 'invalid_credentials' })
  await verify()
  assert.equal(basic.verifyCached(pair('good'), call), principal)
  time.ms += 1000
  assert.equal(await basic.verifyCached(pair('good'), call), principal)
  assert.deepEqual(count, { hashes: 1, lookups: 2 })
  account.revision = 2
  time.ms += 1000
  await assert.rejects(async () => basic.verifyCached(pair('good'), call), Failure)
  time.ms = minutes(5)
  assert.throws(() => basic.verifyCached(pair('good'), call), Failure)
  assert.equal(count.hashes, 1)
})
