import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { INSTALLATION } from '../../src/identity/people/namespace.ts'
import * as tables from '../../src/identity/people/tables.ts'
import {
  createThrottle,
  type ThrottleDeps,
  type ThrottleReport,
} from '../../src/identity/people/throttle.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { Vault } from '../../src/kernel/secret.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { purgeExpired } from '../../src/platform/storage/purge.ts'
import { ManualClock, random } from '../access/test-node.ts'

const MINUTE_MS = 60_000
const attemptOf = (username: string, address = '192.0.2.1') => ({
  realm: 'person' as const,
  namespace: INSTALLATION,
  username,
  address,
})

function openThrottles(db: Database) {
  const time = new ManualClock()
  const vault = new Vault('a master secret of enough characters', random)
  const reports: ThrottleReport[] = []
  const report: ThrottleDeps['report'] = async (_tx, throttled) => void reports.push(throttled)
  const node = () => createThrottle({ db, clock: time.clock, vault, report })
  return { time, reports, node }
}

const isLimited = (seconds: number) => (error: unknown) =>
  error instanceof Failure &&
  error.code === 'rate_limited' &&
  error.headers?.['retry-after'] === String(seconds)

eachMigrated('§3.8 an account has ten attempts in a sliding window of five minutes', async (db) => {
  const { time, node } = openThrottles(db)
  const throttle = node()
  for (let n = 0; n < 10; n++) {
    await throttle.begin(attemptOf('ada'))
    time.pass(MINUTE_MS / 4)
  }
  await assert.rejects(throttle.begin(attemptOf('ada')), isLimited(150))
  await throttle.begin(attemptOf('bob'))
  time.pass(2.5 * MINUTE_MS - 1)
  await assert.rejects(throttle.begin(attemptOf('ada')), isLimited(1))
  time.pass(1)
  await throttle.begin(attemptOf('ada'))
  await assert.rejects(throttle.begin(attemptOf('ada')), isLimited(15))
})

eachMigrated('nodes share the counters: of fifty concurrent attempts, ten pass', async (db) => {
  const { reports, node } = openThrottles(db)
  const nodes = [node(), node(), node()]
  const all = Array.from({ length: 50 }, (_, n) => nodes[n % 3]!.begin(attemptOf('ada')))
  const results = await Promise.allSettled(all)
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 10)
  assert.equal(reports.length, 1)
})

eachMigrated('an address has a hundred attempts, over all its accounts', async (db) => {
  const { reports, node } = openThrottles(db)
  const throttle = node()
  for (let n = 0; n < 100; n++) await throttle.begin(attemptOf(`name ${n}`))
  await assert.rejects(throttle.begin(attemptOf('last')), isLimited(300))
  assert.deepEqual(
    reports.map(({ limit, address }) => [limit, address]),
    [['address', '192.0.2.1']],
  )
  await throttle.begin(attemptOf('last', '192.0.2.2'))
})

eachMigrated('an IPv6 address counts as its /64, a mapped IPv4 address as itself', async (db) => {
  const { node } = openThrottles(db)
  const throttle = node()
  for (let n = 0; n < 50; n++) {
    await throttle.begin(attemptOf(`a${n}`, `2001:db8:0:1::${n.toString(16)}`))
    await throttle.begin(attemptOf(`b${n}`, `2001:DB8:0:1:${n.toString(16)}::`))
    await throttle.begin(attemptOf(`c${n}`, '192.0.2.1'))
    await throttle.begin(attemptOf(`d${n}`, '::ffff:192.0.2.1'))
  }
  await assert.rejects(throttle.begin(attemptOf('last', '2001:db8:0:1:ffff::')), isLimited(300))
  await assert.rejects(throttle.check(attemptOf('last', '2001:db8:0:1:ffff::')), isLimited(300))
  await assert.rejects(throttle.begin(attemptOf('last', '192.0.2.1')), isLimited(300))
  await throttle.begin(attemptOf('last', '2001:db8:0:2::1'))
})

eachMigrated(
  'a recognized client has its own counter, and also counts for account and address',
  async (db) => {
    const { node } = openThrottles(db)
    const throttle = node()
    for (let n = 0; n < 10; n++) await throttle.begin(attemptOf('ada', '192.0.2.7'))
    const recognized = { ...attemptOf('ada'), clientKey: 'ada at home' }
    assert.deepEqual(await throttle.check(recognized), { failures: 10, isExhausted: false })
    for (let n = 0; n < 12; n++) await throttle.begin(recognized)
    assert.deepEqual(await throttle.check(recognized), { failures: 34, isExhausted: true })
    await assert.rejects(throttle.check(attemptOf('ada')), Failure)
    await throttle.recordSuccess(await throttle.begin(recognized))
    assert.deepEqual(await throttle.check(recognized), { failures: 12, isExhausted: false })
    const operator = { ...recognized, realm: 'operator' as const }
    for (let n = 0; n < 10; n++) await throttle.begin(operator)
    await assert.rejects(
      throttle.begin(operator),
      isLimited(300),
      'a recognized client of an operator has ten attempts',
    )
  },
)

eachMigrated('a check counts nothing', async (db) => {
  const { node } = openThrottles(db)
  const throttle = node()
  for (let n = 0; n < 30; n++) {
    assert.deepEqual(await throttle.check(attemptOf('ada')), { failures: 0, isExhausted: false })
  }
  const all = 'SELECT * FROM gh_throttle'
  assert.equal((await db.all({ sql: all, text: all, values: [] })).length, 0)
})

eachMigrated(
  'success clears the account, and removes its own attempt from the address',
  async (db) => {
    const { node } = openThrottles(db)
    const throttle = node()
    for (let n = 0; n < 9; n++) await throttle.begin(attemptOf('ada'))
    await throttle.recordSuccess(await throttle.begin(attemptOf('ada')))
    for (let n = 0; n < 10; n++) await throttle.begin(attemptOf('ada'))
    await assert.rejects(throttle.begin(attemptOf('ada')), isLimited(300))
    // 19 failed attempts count for the address: 81 remain.
    for (let n = 0; n < 81; n++) await throttle.begin(attemptOf(`other ${n}`))
    await assert.rejects(throttle.begin(attemptOf('last')), isLimited(300))
  },
)

eachMigrated('a withdrawn attempt does not count', async (db) => {
  const { node } = openThrottles(db)
  const throttle = node()
  for (let n = 0; n < 30; n++) await throttle.withdraw(await throttle.begin(attemptOf('ada')))
  for (let n = 0; n < 10; n++) await throttle.begin(attemptOf('ada'))
  await assert.rejects(throttle.begin(attemptOf('ada')), Failure)
})

eachMigrated('a limit is reported once per window, stored once, and purged', async (db) => {
  const { time, reports, node } = openThrottles(db)
  const throttle = node()
  const fill = async () => {
    for (let n = 0; n < 10; n++) await throttle.begin(attemptOf('ada'))
    for (let n = 0; n < 5; n++) await assert.rejects(throttle.begin(attemptOf('ada')), Failure)
  }
  await fill()
  assert.equal(reports.length, 1)
  time.pass(5 * MINUTE_MS)
  await fill()
  assert.equal(reports.length, 2)
  const stored = await db.all({
    sql: 'SELECT * FROM gh_throttle',
    text: 'SELECT * FROM gh_throttle',
    values: [],
  })
  assert.ok(!JSON.stringify(stored).includes('ada'), 'names are stored as hashes')
  time.pass(10 * MINUTE_MS)
  assert.equal(await purgeExpired(db, [tables.throttle], time.nowMs), 2)
})
