/**
 * §3.8 simulated: floods of guesses beside correct logins, with counters in memory, a hasher that
 * takes 25 ms of simulated time, and a clock that only the test advances. `throttle.test.ts` tests
 * the counters on both databases, `3-08-floods.test.ts` a flood on a running service.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createPasswordVerifier,
  personAccountKey,
  type VerifyPassword,
} from '../../src/identity/people/login.ts'
import { INSTALLATION } from '../../src/identity/people/namespace.ts'
import { createHasher, type Hasher } from '../../src/identity/people/password.ts'
import type { RecognizedClients } from '../../src/identity/people/recognized-clients.ts'
import {
  type AttemptIdentity,
  type Throttle,
  tooManyFailures,
} from '../../src/identity/people/throttle.ts'
import { addressBlock } from '../../src/kernel/address.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { ManualClock, random } from '../access/test-node.ts'

const HASH_MS = 25
const CONCURRENCY = 2
const MAX_DELAY_MS = 2000

/** Returns the hash of a password in this test: the password, padded. */
const fakeHash = (message: string): Buffer => Buffer.from(message.padEnd(32).slice(0, 32))

/** The counters of §3.8 for a test of less than five minutes: no attempt leaves the window. */
function memoryThrottle(): Throttle {
  const failures = new Map<string, number>()
  const countOf = (name: string) => failures.get(name) ?? 0
  const checkLimits = ({ username, address, clientKey }: AttemptIdentity) => {
    const [accountCount, addressCount] = [countOf(username), countOf(addressBlock(address))]
    const isRecognized = clientKey !== undefined
    if (!isRecognized && (accountCount >= 10 || addressCount >= 100)) throw tooManyFailures(300)
    const isExhausted = isRecognized && countOf(clientKey) >= 10
    return { failures: accountCount + addressCount, isExhausted }
  }
  return {
    check: async (identity) => checkLimits(identity),
    async begin(identity) {
      checkLimits(identity)
      const { username, address, clientKey = 'unrecognized' } = identity
      const names = [username, addressBlock(address), clientKey]
      for (const name of names) failures.set(name, countOf(name) + 1)
      return { counters: names.map((name) => ({ name, kind: 'client', limit: 10 })), at: 0 }
    },
    async recordSuccess({ counters: [account] }) {
      failures.delete(account!.name)
    },
    async withdraw() {},
  }
}

/** `ada` has signed in from this address before. */
const HOME = '203.0.113.1'
const recognizedClients: RecognizedClients = {
  find: async (_, account, { address }) => ({
    clientKey: account?.id === 'ada' && address === HOME ? 'ada at home' : undefined,
    remember: async () => undefined,
  }),
  purge: async () => 0,
}

function openSimulation() {
  const time = new ManualClock()
  const { clock } = time
  const vault = new Vault('a master secret of enough characters', random)
  const running = new Map<() => void, number>()
  const hashedTexts: string[] = []
  const hasher = createHasher({
    random,
    clock,
    concurrency: CONCURRENCY,
    derive: ({ message }) =>
      new Promise((resolve) => {
        hashedTexts.push(message)
        running.set(() => resolve(fakeHash(message)), time.realMs + HASH_MS)
      }),
  })
  const throttle = memoryThrottle()
  const verify = createPasswordVerifier({ vault, clock, hasher, throttle, recognizedClients })
  const pass = async (ms: number) => {
    for (const endMs = time.realMs + ms; time.realMs < endMs; ) {
      await new Promise((resolve) => setImmediate(resolve))
      time.pass(1)
      for (const [end, endsMs] of running) if (endsMs <= time.realMs && running.delete(end)) end()
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { time, hasher, verify, hashedTexts, pass }
}

/** Returns accounts with the passwords `right NAME`, as `gh_people` stores them. */
async function createAccounts(
  hasher: Hasher,
  names: readonly string[],
  pass: (ms: number) => unknown,
) {
  const accounts = new Map<string, { id: string; password: string; disabled: number }>()
  for (const name of names) {
    const hash = hasher.hash(`right ${name}`, personAccountKey(INSTALLATION, name))
    await pass(HASH_MS + 1)
    accounts.set(name, { id: name, password: await hash, disabled: 0 })
  }
  return {
    realm: 'person' as const,
    namespace: INSTALLATION,
    find: async (name: string) => accounts.get(name),
  }
}

/** Signs in; returns the outcome and the simulated duration. */
async function attempt(
  verify: VerifyPassword,
  accounts: Parameters<VerifyPassword>[0],
  time: ManualClock,
  [name, password, address]: readonly [name: string, password: string, address: string],
) {
  const startMs = time.realMs
  try {
    await verify(accounts, name, password, { address })
    return { outcome: 'signed in', tookMs: time.realMs - startMs }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { outcome: error.code as string, tookMs: time.realMs - startMs }
  }
}

interface Flood {
  readonly name: string
  /** Returns the account and the address of the nth guess. */
  readonly guess: (n: number) => readonly [account: string, address: string]
}

const floods: readonly Flood[] = [
  { name: 'one account, many addresses', guess: (n) => ['ada', `198.51.${n >> 8}.${n & 255}`] },
  { name: 'many accounts, one address', guess: (n) => [`unknown ${n}`, '198.51.100.1'] },
  {
    name: 'many accounts, one IPv6 /64',
    guess: (n) => [`unknown ${n}`, `2001:db8::${n.toString(16)}`],
  },
  {
    name: 'many accounts, many addresses',
    guess: (n) => [`unknown ${n}`, `198.51.${n >> 8}.${n & 255}`],
  },
  {
    name: 'real accounts, many addresses',
    guess: (n) => [`person ${n % 8}`, `198.51.${n >> 8}.${n & 255}`],
  },
]

for (const { name, guess } of floods) {
  test(`a correct login takes at most 2 s beside a flood: ${name}`, async () => {
    const { time, hasher, verify, pass, hashedTexts } = openSimulation()
    const names = Array.from({ length: 8 }, (_, n) => `person ${n}`)
    const accounts = await createAccounts(hasher, [...names, 'ada'], pass)
    const guesses: Promise<{ outcome: string }>[] = []
    const logins: Promise<{ outcome: string; tookMs: number }>[] = []
    for (let n = 0; n < 600; n++) {
      const [account, address] = guess(n)
      guesses.push(attempt(verify, accounts, time, [account, `wrong ${n}`, address]))
      if (n === 400) {
        logins.push(attempt(verify, accounts, time, ['ada', 'right ada', HOME]))
        // The others sign in from new addresses; guesses may have locked their accounts.
        if (name !== 'real accounts, many addresses') {
          for (const [at, person] of names.entries()) {
            const newcomer = [person, `right ${person}`, `203.0.113.${10 + at}`] as const
            logins.push(attempt(verify, accounts, time, newcomer))
          }
        }
      }
      if (n % 2 === 1) await pass(1) // 2,000 guesses a second; 80 can be hashed
    }
    await pass(12_000)
    for (const { outcome, tookMs } of await Promise.all(logins)) {
      assert.equal(outcome, 'signed in')
      assert.ok(tookMs <= MAX_DELAY_MS, `${tookMs} ms`)
    }
    const outcomes = new Set((await Promise.all(guesses)).map(({ outcome }) => outcome))
    assert.ok(!outcomes.has('signed in'))
    if (name === 'one account, many addresses') {
      // Ten, and ten more after the correct login has cleared the account's counter.
      assert.ok(hashedTexts.filter((text) => text.startsWith('wrong')).length <= 20)
    }
    if (name.includes('one address') || name.includes('one IPv6')) {
      const count = hashedTexts.filter((text) => text.startsWith('wrong')).length
      assert.ok(count <= 100, `${count} guesses were hashed`)
    }
  })
}

test('an unknown name and a wrong password take the same time', async () => {
  const { time, hasher, verify, pass } = openSimulation()
  const accounts = await createAccounts(hasher, ['ada'], pass)
  const attemptAll = async (name: string, net: number) => {
    const all = Array.from({ length: 20 }, (_, n) =>
      attempt(verify, accounts, time, [name, `wrong ${n}`, `198.51.${net}.${n}`]),
    )
    await pass(3000)
    return (await Promise.all(all)).map(({ outcome, tookMs }) => `${outcome} ${tookMs}`)
  }
  assert.deepEqual(await attemptAll('ada', 0), await attemptAll('unknown', 1))
})

test('a name or a password that no account can have waits for no thread', async () => {
  const { time, hasher, verify, hashedTexts, pass } = openSimulation()
  const accounts = await createAccounts(hasher, ['ada'], pass)
  const lookups: string[] = []
  const find = async (name: string) => void lookups.push(name)
  hashedTexts.length = 0
  for (const [name, password] of [
    ['x'.repeat(130_000), 'wrong'],
    [`${'ada'.repeat(300)}\u0416`, 'wrong'],
    ['ada', 'x'.repeat(5_000)],
  ] as const) {
    const refused = await attempt(verify, { ...accounts, find }, time, [name, password, HOME])
    assert.deepEqual(refused, { outcome: 'invalid_credentials', tookMs: 0 })
  }
  assert.deepEqual([hashedTexts, lookups], [[], []])
})
