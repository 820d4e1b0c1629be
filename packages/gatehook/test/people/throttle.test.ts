import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { createThrottle, purgeThrottle, type Refusal } from '../../src/people/throttle.ts'
import type { Database } from '../../src/storage/database.ts'
import { HandClock, random } from '../access/desk.ts'

const MINUTE_MS = 60_000
const who = (username: string, address = '192.0.2.1') => ({
  realm: 'person' as const,
  username,
  address,
})

function doors(db: Database) {
  const time = new HandClock()
  const vault = new Vault('a master secret of enough characters', random)
  const told: Refusal[] = []
  const tell = async (_tx: unknown, refusal: Refusal) => void told.push(refusal)
  const node = () => createThrottle({ db, clock: time.clock, vault, tell })
  return { time, told, node }
}

const refused = (seconds: number) => (error: unknown) =>
  error instanceof Failure &&
  error.code === 'rate_limited' &&
  error.headers?.['retry-after'] === String(seconds)

eachMigrated('§3.8 ten in a sliding five minutes, then the oldest frees a place', async (db) => {
  const { time, node } = doors(db)
  const throttle = node()
  for (let n = 0; n < 10; n++) {
    await throttle.begin(who('ada'))
    time.pass(MINUTE_MS / 4)
  }
  await assert.rejects(throttle.begin(who('ada')), refused(150))
  await throttle.begin(who('bob'))
  time.pass(2.5 * MINUTE_MS - 1)
  await assert.rejects(throttle.begin(who('ada')), refused(1))
  time.pass(1)
  await throttle.begin(who('ada'))
  await assert.rejects(throttle.begin(who('ada')), refused(15))
})

eachMigrated('nodes share one count: of fifty at once, ten are judged', async (db) => {
  const { told, node } = doors(db)
  const nodes = [node(), node(), node()]
  const all = Array.from({ length: 50 }, (_, n) => nodes[n % 3]!.begin(who('ada')))
  const settled = await Promise.allSettled(all)
  assert.equal(settled.filter((one) => one.status === 'fulfilled').length, 10)
  assert.equal(told.length, 1)
})

eachMigrated('an address has a hundred, over all its accounts', async (db) => {
  const { told, node } = doors(db)
  const throttle = node()
  for (let n = 0; n < 100; n++) await throttle.begin(who(`name ${n}`))
  await assert.rejects(throttle.begin(who('one more')), refused(300))
  assert.deepEqual(
    told.map(({ by, address }) => [by, address]),
    [['address', '192.0.2.1']],
  )
  await throttle.begin(who('one more', '192.0.2.2'))
})

eachMigrated('an IPv6 address counts as its /64, a mapped IPv4 address as itself', async (db) => {
  const { node } = doors(db)
  const throttle = node()
  for (let n = 0; n < 50; n++) {
    await throttle.begin(who(`a${n}`, `2001:db8:0:1::${n.toString(16)}`))
    await throttle.begin(who(`b${n}`, `2001:DB8:0:1:${n.toString(16)}::`))
    await throttle.begin(who(`c${n}`, '192.0.2.1'))
    await throttle.begin(who(`d${n}`, '::ffff:192.0.2.1'))
  }
  await assert.rejects(throttle.begin(who('one more', '2001:db8:0:1:ffff::')), refused(300))
  await assert.rejects(throttle.check(who('one more', '2001:db8:0:1:ffff::')), refused(300))
  await assert.rejects(throttle.begin(who('one more', '192.0.2.1')), refused(300))
  await throttle.begin(who('one more', '2001:db8:0:2::1'))
})

eachMigrated('a known client has a count of its own, and adds to those of others', async (db) => {
  const { node } = doors(db)
  const throttle = node()
  for (let n = 0; n < 10; n++) await throttle.begin(who('ada', '192.0.2.7'))
  const known = { ...who('ada'), known: 'ada at home' }
  assert.deepEqual(await throttle.check(known), { failures: 10, isExhausted: false })
  for (let n = 0; n < 12; n++) await throttle.begin(known)
  assert.deepEqual(await throttle.check(known), { failures: 34, isExhausted: true })
  await assert.rejects(throttle.check(who('ada')), Failure)
  await throttle.succeeded(await throttle.begin(known))
  assert.deepEqual(await throttle.check(known), { failures: 12, isExhausted: false })
  const operator = { ...known, realm: 'operator' as const }
  for (let n = 0; n < 10; n++) await throttle.begin(operator)
  await assert.rejects(throttle.begin(operator), refused(300), 'an operator has ten')
})

eachMigrated('a check counts nothing', async (db) => {
  const { node } = doors(db)
  const throttle = node()
  for (let n = 0; n < 30; n++) {
    assert.deepEqual(await throttle.check(who('ada')), { failures: 0, isExhausted: false })
  }
  const all = 'SELECT * FROM gh_throttle'
  assert.equal((await db.all({ sql: all, text: all, values: [] })).length, 0)
})

eachMigrated(
  'success clears the account, and takes its own attempt off the address',
  async (db) => {
    const { node } = doors(db)
    const throttle = node()
    for (let n = 0; n < 9; n++) await throttle.begin(who('ada'))
    await throttle.succeeded(await throttle.begin(who('ada')))
    for (let n = 0; n < 10; n++) await throttle.begin(who('ada'))
    await assert.rejects(throttle.begin(who('ada')), refused(300))
    // 19 failed ones count against the address: 81 are left.
    for (let n = 0; n < 81; n++) await throttle.begin(who(`other ${n}`))
    await assert.rejects(throttle.begin(who('last')), refused(300))
  },
)

eachMigrated('what was never judged counts for nothing', async (db) => {
  const { node } = doors(db)
  const throttle = node()
  for (let n = 0; n < 30; n++) await throttle.withdrawn(await throttle.begin(who('ada')))
  for (let n = 0; n < 10; n++) await throttle.begin(who('ada'))
})

eachMigrated('refusals are told once a time, written once, and forgotten', async (db) => {
  const { time, told, node } = doors(db)
  const throttle = node()
  const fill = async () => {
    for (let n = 0; n < 10; n++) await throttle.begin(who('ada'))
    for (let n = 0; n < 5; n++) await assert.rejects(throttle.begin(who('ada')), Failure)
  }
  await fill()
  assert.equal(told.length, 1)
  time.pass(5 * MINUTE_MS)
  await fill()
  assert.equal(told.length, 2)
  const stored = await db.all({
    sql: 'SELECT * FROM gh_throttle',
    text: 'SELECT * FROM gh_throttle',
    values: [],
  })
  assert.ok(!JSON.stringify(stored).includes('ada'), 'names typed are not kept in the clear')
  time.pass(10 * MINUTE_MS)
  assert.equal(await purgeThrottle(db, time.nowMs), 2)
})
