/** Each fault of a key set refuses it alone. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import {
  type AssertionKeys,
  createKeySets,
  findIssuerUrlFault,
  findKeySetFault,
  findKeySetUrlFault,
  usableKeys,
} from './key-set.ts'

const jwkOf = ({ publicKey }: { publicKey: import('node:crypto').KeyObject }) =>
  publicKey.export({ format: 'jwk' })
const ec = (namedCurve: string) => jwkOf(generateKeyPairSync('ec', { namedCurve }))
const rsa = (bits: number) => ({
  kty: 'RSA',
  e: 'AQAB',
  n: Buffer.alloc(bits / 8, 0xff).toString('base64url'),
})
const valid = ec('P-256')

test('a set has few keys of the algorithms that the server verifies', () => {
  for (const key of [valid, jwkOf(generateKeyPairSync('ed25519')), rsa(2048), rsa(4096)]) {
    assert.equal(findKeySetFault({ keys: [key] }), undefined, JSON.stringify(key).slice(0, 60))
  }
  const faults: [fault: RegExp, value: unknown][] = [
    [/is not a JWK set/, null],
    [/is not a JWK set/, []],
    [/is not a JWK set/, { keys: {} }],
    [/is not a JWK set/, { keys: [] }],
    [/is not a JWK set/, { keys: [null] }],
    [/is not a JWK set/, { keys: [[]] }],
    [/more than \d+ keys/, { keys: Array.from({ length: 101 }, () => valid) }],
    [/too long/, { keys: [{ ...valid, more: 'x'.repeat(1_000_000) }] }],
    ...['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].map(
      (name) => [/private key/, { keys: [{ ...valid, [name]: 'AQAB' }] }] as [RegExp, unknown],
    ),
    [/fewer than 2048 bits/, { keys: [rsa(2040)] }],
    [/fewer than 2048 bits/, { keys: [{ ...rsa(2048), n: 7 }] }],
    [/more than \d+ bits/, { keys: [rsa(32_768)] }],
    [/large exponent/, { keys: [{ ...rsa(2048), e: 'A'.repeat(100) }] }],
    [/large exponent/, { keys: [{ ...rsa(2048), e: 3 }] }],
    [/not RSA, P-256 or Ed25519/, { keys: [ec('P-384')] }],
    [/not RSA, P-256 or Ed25519/, { keys: [{ ...valid, kty: 'constructor' }] }],
    [/not RSA, P-256 or Ed25519/, { keys: [{ ...valid, kty: undefined }] }],
  ]
  for (const [fault, value] of faults) assert.match(findKeySetFault(value) ?? '', fault)
})

test('of a key, the members that verify with it or select it are stored', () => {
  const used = { ...valid, kid: 'a', alg: 'ES256', use: 'sig', key_ops: ['verify'] }
  const junk = { x5c: ['…'], junk: { a: 1 } }
  assert.deepEqual(usableKeys({ keys: [{ ...used, ...junk }] }), { keys: [used] })
  const mistyped = { ...valid, kid: {}, use: [], key_ops: [[]] }
  assert.deepEqual(usableKeys({ keys: [mistyped] }), { keys: [valid] })
})

test('a fetched set counts without its keys of other kinds', async () => {
  const weak = { ...rsa(1024), kid: 'weak', alg: 'RS256' }
  const strong = { ...rsa(2048), kid: 'strong', alg: 'RS256' }
  const fetchDocument = async () => ({ value: { keys: [weak, strong] }, lifetimeMs: 0 })
  const { find } = createKeySets({
    fetchDocument,
    fetchTrusted: fetchDocument,
    countFetch: async () => undefined,
    clock: { now: () => 1e12 },
  })
  const select = await find({ jwksUri: 'https://app.example/jwks.json' }, undefined)
  const isFound = (kid: string) =>
    Promise.resolve(select({ alg: 'RS256', kid })).then(
      () => true,
      () => false,
    )
  assert.deepEqual([await isFound('weak'), await isFound('strong')], [false, true])
})

test('no client has a set of an issuer, however its URL is spelt', async () => {
  const issuer = 'https://idp.example'
  const keys = 'https://keys.example/set'
  const ofIssuers: AssertionKeys[] = [{ issuer }, { issuer, jwksUri: keys }]
  const ofClients = ['', ' ', ` ${keys}`, `",null]`, `","${keys}"]`].flatMap((end) => [
    { jwksUri: issuer + end },
    { jwksUri: JSON.stringify([issuer, null]) + end },
  ])
  const fetched: string[] = []
  const { find } = createKeySets({
    fetchDocument: async () => {
      throw new Error('not served')
    },
    fetchTrusted: async (url) => {
      fetched.push(url)
      const jwks_uri = `${issuer}/keys`
      return { value: url.includes('well-known') ? { issuer, jwks_uri } : {}, lifetimeMs: 0 }
    },
    countFetch: async () => undefined,
    clock: { now: () => 1e12 },
  })
  for (const source of ofClients) {
    for (const customer of ['', 'a']) {
      await assert.rejects(find(source, 'one', customer), /not served/)
    }
  }
  for (const source of ofIssuers) await assert.rejects(find(source, 'one'), /read/)
  assert.deepEqual(fetched, [`${issuer}/.well-known/openid-configuration`, `${issuer}/keys`])
})

test('a URL that a parser would change is refused', () => {
  const spellings = [' ', '\t', '\n', '\u00a0', 'ä', '\\', '<', '%', '#', '/#a', '|']
  for (const findFault of [findKeySetUrlFault, findIssuerUrlFault]) {
    assert.equal(findFault('https://idp.example/a?b=%20'), undefined)
    for (const text of spellings) {
      const urls = [`https://idp.example${text}`, `${text}https://idp.example`]
      for (const url of [...urls, `https://idp.example/a${text}b`]) {
        assert.match(findFault(url) ?? '', /is not an https URL/, JSON.stringify(url))
      }
    }
    for (const url of ['https:idp.example', 'https:///idp.example', 'https://u@idp.example']) {
      assert.match(findFault(url) ?? '', /is not an https URL/, url)
    }
  }
})

const KEY = { ...valid, kid: 'one' }

test('customers share the set of a URL, and the refusal of one is no attempt', async () => {
  const refused = new Set(['refused'])
  let [nowMs, fetches] = [1e12, 0]
  const { find } = createKeySets({
    async fetchDocument() {
      fetches++
      return { value: { keys: [KEY] }, lifetimeMs: 0 }
    },
    fetchTrusted: () => assert.fail('no issuer'),
    countFetch: async ({ customer = '' }) => (refused.has(customer) ? 1 : undefined),
    clock: { now: () => nowMs },
  })
  const source = { jwksUri: 'https://app.example/keys' }
  const findAll = () =>
    Promise.allSettled(['refused', 'refused', 'a', 'b', 'c'].map((of) => find(source, 'one', of)))
  const statuses = async () => (await findAll()).map(({ status }) => status)
  const [no, yes] = ['rejected', 'fulfilled']
  assert.deepEqual(await statuses(), [no, no, yes, yes, yes])
  assert.equal(fetches, 1)
  assert.deepEqual(await statuses(), Array(5).fill(yes), 'it has no set of its own')
  nowMs += 10 * 60_000
  await find(source, 'one', 'refused')
  assert.equal(fetches, 2, 'a refresh is not counted')
  // It may fetch a new one as soon as it has a fetch again.
  const other = { jwksUri: 'https://app.example/other' }
  await assert.rejects(find(other, 'one', 'refused'), /too many/)
  refused.clear()
  await find(other, 'one', 'refused')
})

test('no client of one customer takes the set of another, or of an issuer', async () => {
  let fetched: string[] = []
  const fetchDocument = async (url: string) => {
    fetched.push(url)
    if (url.includes('bad')) throw new Error('not served')
    return { value: { keys: [KEY] }, lifetimeMs: 0 }
  }
  const { find } = createKeySets({
    fetchDocument,
    fetchTrusted: fetchDocument,
    countFetch: async ({ customer }) => (customer === 'refused' ? 1 : undefined),
    clock: { now: () => 1e12 },
  })
  const shared = { jwksUri: 'https://app.example/keys' }
  const issuer = { issuer: 'https://idp.example', jwksUri: 'https://idp.example/keys' }
  // A refused fetch of another customer delays none of the same URL.
  await assert.rejects(find(shared, 'one', 'refused'), /too many/)
  await find(shared, 'one', 'first')
  await find(issuer, 'one')
  for (let n = 0; n < 2_000; n++) {
    await assert.rejects(find({ jwksUri: `https://bad.example/${n}` }, 'one', 'second'))
  }
  fetched = []
  await find(shared, 'one', 'first')
  assert.deepEqual(fetched, [])
  for (let n = 0; n < 2_000; n++) {
    await find({ jwksUri: `https://good.example/${n}` }, 'one', 'second')
  }
  fetched = []
  await find(issuer, 'one')
  assert.deepEqual(fetched, [])
})

test('a set whose fetch failed delays no request with one of its keys', async () => {
  let nowMs = 1e12
  const fetches: PromiseWithResolvers<{ value: unknown; lifetimeMs: number }>[] = []
  const fetchDocument = () => {
    const fetch = Promise.withResolvers<{ value: unknown; lifetimeMs: number }>()
    fetches.push(fetch)
    return fetch.promise
  }
  const { find } = createKeySets({
    fetchDocument: fetchDocument as never,
    fetchTrusted: fetchDocument as never,
    countFetch: async () => undefined,
    clock: { now: () => nowMs },
  })
  const source = { jwksUri: 'https://app.example/jwks.json' }
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  const first = find(source, 'one')
  await nextTurn()
  fetches[0]!.resolve({ value: { keys: [KEY] }, lifetimeMs: 0 })
  await first
  nowMs += 11 * 60_000
  const failing = find(source, 'one')
  await nextTurn()
  fetches[1]!.reject(new Error('timed out'))
  await failing
  nowMs += 61_000
  const select = await find(source, 'one')
  assert.equal(select, await failing)
  await nextTurn()
  assert.equal(fetches.length, 3, 'it is fetched beside the request')
  assert.equal(await find(source, 'one'), select)
  assert.equal(fetches.length, 3)
  fetches[2]!.resolve({ value: { keys: [{ ...KEY, kid: 'two' }] }, lifetimeMs: 0 })
  await nextTurn()
  assert.notEqual(await find(source, 'two'), select)
  assert.equal(fetches.length, 3)
})
