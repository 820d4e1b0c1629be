/** §18.1: a name that gives no address is named as that, and not as a frozen primary. */
import assert from 'node:assert/strict'
import dns from 'node:dns'
import { test } from 'node:test'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { primaryFaults } from '../../src/platform/storage/primary-fault.ts'

const HOST = 'db.gatehook.test'
const END_SESSIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`

type Answer = (error: Error | null, result?: unknown, family?: number) => void

/** Answers for `HOST`; the resolver of this machine does for other names. */
function mockResolver(t: { mock: typeof import('node:test').mock }) {
  const system = dns.lookup as (host: string, options: object, done: Answer) => void
  const resolver = {
    answer(options: { all?: boolean }, done: Answer) {
      const address = { address: '127.0.0.1', family: 4 }
      process.nextTick(() => (options.all ? done(null, [address]) : done(null, '127.0.0.1', 4)))
    },
  }
  const lookup = (host: string, options: object, done: Answer) =>
    host === HOST ? resolver.answer(options, done) : system(host, options, done)
  t.mock.method(dns, 'lookup', lookup as never)
  return resolver
}

const unanswered: Answer[] = []

const cases = [
  [
    'a resolver that does not answer',
    'unresolved',
    (_options: object, done: Answer) => void unanswered.push(done),
  ],
  [
    'a name without an address',
    'unknown_host',
    (_options: object, done: Answer) =>
      process.nextTick(() => done(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))),
  ],
] as const

for (const [title, fault, answer] of cases) {
  test(`${title} is named, and the primary is not called frozen`, async (t) => {
    const resolver = mockResolver(t as never)
    const { answer: sound } = resolver
    const url = await migratedUrl(t, 'postgres')
    const named = new URL(url)
    named.hostname = HOST
    named.searchParams.set('sslmode', 'disable')
    const node = await openService(t, 'postgres', { url: named.href })
    assert.equal((await node.get('/readyz')).status, 200)

    resolver.answer = answer
    await queryAsAdmin(url, END_SESSIONS)
    let count = 0
    const sentences = new Set<string>()
    const observe = async () => {
      await Promise.all([1, 2, 3].map(() => node.get('/api/v2/users')))
      const { reasons = [] } = (await node.as(undefined).get('/readyz')).body
      const primary = reasons.find(({ check }: { check: string }) => check === 'primary')
      if (primary) sentences.add(primary.message)
      if (primary?.message === primaryFaults[fault]) count++
      return count
    }
    await eventually(observe, (observed) => observed >= 6)
    assert.deepEqual([...sentences], [primaryFaults[fault]])

    resolver.answer = sound
    for (const done of unanswered.splice(0)) sound({}, done)
    await eventually(
      () => node.get('/api/v2/users'),
      ({ status }) => status === 200,
    )
  })
}
