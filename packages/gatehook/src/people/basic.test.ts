import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Credential } from '../access/credential.ts'
import type { Call } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { createLookupCache } from '../kernel/lookup-cache.ts'
import { type Principal, scopeOf } from '../kernel/principal.ts'
import { systemRandom } from '../kernel/random.ts'
import { Vault } from '../kernel/secret.ts'
import { createBasic, type Standing } from './basic.ts'

const principal: Principal = {
  customer: 'cus_default',
  mode: 'test',
  scope: scopeOf(1, 'test'),
  kind: 'person',
  subject: '7',
  scopes: new Set(),
}

/** One account with the password `good`, and how often what was asked of it. */
function door() {
  const time = { ms: 0 }
  const clock = { now: () => 0, elapsedMs: () => time.ms }
  const count = { hashed: 0, looked: 0 }
  const account = { revision: 1, suspended: false, there: true }
  const accounts = createLookupCache<number, Standing>({
    load: async () => {
      count.looked += 1
      if (!account.there) return undefined
      const check = () => {
        if (account.suspended) throw new Failure('customer_suspended')
      }
      return { principal, revision: account.revision, check }
    },
    clock,
  })
  const basic = createBasic({
    vault: new Vault('a master secret of enough characters', systemRandom()),
    clock,
    from: ['127.0.0.0/8'],
    accounts,
    async signIn(_username, password) {
      count.hashed += 1
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
    ...{ time, count, account, basic, call, pair },
    ask: (password = 'good') => basic.verify(pair(password), call),
  }
}

const minutes = (count: number) => count * 60_000

test('§3.4 a verified pair is hashed once in five minutes; in between it is free', async () => {
  const { time, count, ask } = door()
  assert.equal(await ask(), principal)
  for (let n = 0; n < 100; n++) assert.equal(ask(), principal, 'at once, without a promise')
  assert.deepEqual(count, { hashed: 1, looked: 1 })
  time.ms = minutes(5) - 1
  await ask()
  assert.equal(count.hashed, 1)
  time.ms = minutes(5)
  await ask()
  assert.equal(count.hashed, 2)
})

test('a wrong pair is never remembered', async () => {
  const { count, ask, basic, call, pair } = door()
  for (let n = 0; n < 3; n++) {
    await assert.rejects(async () => ask('bad'), { code: 'invalid_credentials' })
  }
  assert.equal(count.hashed, 3)
  assert.throws(() => basic.known(pair('bad'), call), { code: 'invalid_credentials' })
})

test('a changed account is hashed again, a suspended customer is told so', async () => {
  const { time, count, account, ask } = door()
  await ask()
  account.revision = 2
  time.ms += 1000
  assert.equal(await ask(), principal)
  assert.equal(count.hashed, 2)
  account.suspended = true
  time.ms += 1000
  await assert.rejects(async () => ask(), { code: 'customer_suspended' })
  account.suspended = false
  account.there = false
  time.ms += 1000
  await assert.rejects(async () => ask(), { code: 'invalid_credentials' })
})

test('who is asked for without a password’s cost is named while it is remembered', async () => {
  const { time, count, account, ask, basic, call, pair } = door()
  assert.throws(() => basic.known(pair('good'), call), { code: 'invalid_credentials' })
  await ask()
  assert.equal(basic.known(pair('good'), call), principal)
  time.ms += 1000
  assert.equal(await basic.known(pair('good'), call), principal)
  assert.deepEqual(count, { hashed: 1, looked: 2 })
  account.revision = 2
  time.ms += 1000
  await assert.rejects(async () => basic.known(pair('good'), call), Failure)
  time.ms = minutes(5)
  assert.throws(() => basic.known(pair('good'), call), Failure)
  assert.equal(count.hashed, 1)
})
