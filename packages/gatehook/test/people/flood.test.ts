/**
 * §3.8 simulated: floods of guesses beside correct logins, with counts in memory, a hasher that
 * takes 25 ms of simulated time, and a clock that moves only here. The counts on both databases are
 * `throttle.test.ts`, a flood on a running service is `3-08-floods.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressBlock } from '../../src/kernel/address.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { createHasher, type Hasher } from '../../src/people/password.ts'
import type { RecognizedClients } from '../../src/people/recognized-clients.ts'
import { createJudge, hintName, type Judge } from '../../src/people/sign-in.ts'
import { type Throttle, tooManyFailures, type Who } from '../../src/people/throttle.ts'
import { HandClock, random } from '../access/desk.ts'

const HASH_MS = 25
const AT_ONCE = 2
const MAX_DELAY_MS = 2000

/** The hash of a password here is the password, padded. */
const derivedOf = (message: string): Buffer => Buffer.from(message.padEnd(32).slice(0, 32))

/** The counts of §3.8 for less than five minutes: nothing leaves the window. */
function memoryThrottle(): Throttle {
  const failures = new Map<string, number>()
  const countOf = (name: string) => failures.get(name) ?? 0
  const standing = ({ username, address, known }: Who) => {
    const [ofAccount, ofAddress] = [countOf(username), countOf(addressBlock(address))]
    if (known === undefined && (ofAccount >= 10 || ofAddress >= 100)) throw tooManyFailures(300)
    const isExhausted = known !== undefined && countOf(known) >= 10
    return { failures: ofAccount + ofAddress, isExhausted }
  }
  return {
    check: async (who) => standing(who),
    async begin(who) {
      standing(who)
      const names = [who.username, addressBlock(who.address), who.known ?? 'nothing']
      for (const name of names) failures.set(name, countOf(name) + 1)
      return { subjects: names.map((name) => ({ name, by: 'client', limit: 10 })), at: 0 }
    },
    async succeeded({ subjects: [account] }) {
      failures.delete(account!.name)
    },
    async withdrawn() {},
  }
}

/** `ada` has signed in from this address before. */
const HOME = '203.0.113.1'
const recognizedClients: RecognizedClients = {
  find: async (_, account, { address }) => ({
    known: account?.id === 'ada' && address === HOME ? 'ada at home' : undefined,
    remember: async () => undefined,
  }),
  purge: async () => 0,
}

function stage() {
  const time = new HandClock()
  const { clock } = time
  const vault = new Vault('a master secret of enough characters', random)
  const running = new Map<() => void, number>()
  const hashed: string[] = []
  const hasher = createHasher({
    random,
    clock,
    atOnce: AT_ONCE,
    derive: ({ message }) =>
      new Promise((resolve) => {
        hashed.push(message)
        running.set(() => resolve(derivedOf(message)), time.realMs + HASH_MS)
      }),
  })
  const judge = createJudge({ vault, clock, hasher, throttle: memoryThrottle(), recognizedClients })
  const pass = async (ms: number) => {
    for (const endMs = time.realMs + ms; time.realMs < endMs; ) {
      await new Promise((resolve) => setImmediate(resolve))
      time.pass(1)
      for (const [end, endsMs] of running) if (endsMs <= time.realMs && running.delete(end)) end()
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { time, hasher, judge, hashed, pass }
}

/** People whose passwords are `right NAME`, as `gh_people` would have them. */
async function peopleOf(hasher: Hasher, names: readonly string[], pass: (ms: number) => unknown) {
  const accounts = new Map<string, { id: string; password: string; disabled: number }>()
  for (const name of names) {
    const hash = hasher.hash(`right ${name}`, hintName('person', name))
    await pass(HASH_MS + 1)
    accounts.set(name, { id: name, password: await hash, disabled: 0 })
  }
  return { realm: 'person' as const, find: async (name: string) => accounts.get(name) }
}

/** Signs in, and gives how it ended and after how many simulated milliseconds. */
async function attempt(
  judge: Judge,
  how: Parameters<Judge>[0],
  time: HandClock,
  [name, password, address]: readonly [name: string, password: string, address: string],
) {
  const startMs = time.realMs
  try {
    await judge(how, name, password, { address })
    return { outcome: 'signed in', tookMs: time.realMs - startMs }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { outcome: error.code as string, tookMs: time.realMs - startMs }
  }
}

interface Flood {
  readonly name: string
  /** The account and the address of the nth guess. */
  readonly guess: (n: number) => readonly [account: string, address: string]
}

const floods: readonly Flood[] = [
  { name: 'one account, many addresses', guess: (n) => ['ada', `198.51.${n >> 8}.${n & 255}`] },
  { name: 'many accounts, one address', guess: (n) => [`nobody ${n}`, '198.51.100.1'] },
  {
    name: 'many accounts, one IPv6 /64',
    guess: (n) => [`nobody ${n}`, `2001:db8::${n.toString(16)}`],
  },
  {
    name: 'many accounts, many addresses',
    guess: (n) => [`nobody ${n}`, `198.51.${n >> 8}.${n & 255}`],
  },
  {
    name: 'real accounts, many addresses',
    guess: (n) => [`person ${n % 8}`, `198.51.${n >> 8}.${n & 255}`],
  },
]

for (const { name, guess } of floods) {
  test(`a correct login takes at most 2 s beside a flood: ${name}`, async () => {
    const { time, hasher, judge, pass, hashed } = stage()
    const names = Array.from({ length: 8 }, (_, n) => `person ${n}`)
    const how = await peopleOf(hasher, [...names, 'ada'], pass)
    const guesses: Promise<{ outcome: string }>[] = []
    const logins: Promise<{ outcome: string; tookMs: number }>[] = []
    for (let n = 0; n < 600; n++) {
      const [account, address] = guess(n)
      guesses.push(attempt(judge, how, time, [account, `wrong ${n}`, address]))
      if (n === 400) {
        logins.push(attempt(judge, how, time, ['ada', 'right ada', HOME]))
        // Others come from new addresses; guesses on their own accounts may have locked those.
        if (name !== 'real accounts, many addresses') {
          for (const [at, person] of names.entries()) {
            const newcomer = [person, `right ${person}`, `203.0.113.${10 + at}`] as const
            logins.push(attempt(judge, how, time, newcomer))
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
      // Ten, and ten more once the correct login has cleared the account's count.
      assert.ok(hashed.filter((text) => text.startsWith('wrong')).length <= 20)
    }
    if (/one (address|IPv6)/.test(name)) {
      const count = hashed.filter((text) => text.startsWith('wrong')).length
      assert.ok(count <= 100, `${count} guesses were hashed`)
    }
  })
}

test('an unknown name and a wrong password wait alike', async () => {
  const { time, hasher, judge, pass } = stage()
  const how = await peopleOf(hasher, ['ada'], pass)
  const timesOf = async (name: string, net: number) => {
    const all = Array.from({ length: 20 }, (_, n) =>
      attempt(judge, how, time, [name, `wrong ${n}`, `198.51.${net}.${n}`]),
    )
    await pass(3000)
    return (await Promise.all(all)).map(({ outcome, tookMs }) => `${outcome} ${tookMs}`)
  }
  assert.deepEqual(await timesOf('ada', 0), await timesOf('nobody', 1))
})
