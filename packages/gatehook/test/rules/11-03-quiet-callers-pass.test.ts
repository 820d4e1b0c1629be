/**
 * §11.3: each mode has one total for programs and another for persons, and a person below a
 * tenth of its own limit passes whatever other persons use (decision 0084).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Caller, eachService, type Reply } from '../../../../test/rig/service.ts'
import { createLocalLimiter } from '../../src/protocol/quota/limiter.ts'
import { createLocalDraw, createSharedLimiter } from '../../src/protocol/quota/shared-limiter.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

const actor = { kind: 'test', id: 't' } as never
const PATH = '/api/v2/protected'

eachService(
  'persons and programs of each mode have a total each; a tenth of the own limit always passes',
  async (service) => {
    const { operator, createPerson, token } = await openPeople(service)
    const limits = { total_rate_limit: { limit: 8, window_s: 60 } }
    const tokens: string[] = []
    for (const name of ['ada', 'bo', 'cy']) {
      await createPerson(name)
      tokens.push(await token(emailOf(name)))
    }
    assert.equal((await operator.patch('/admin/customers/default', { limits })).status, 200)
    // The requests of the operator expire.
    await service.app.clock!.set({ advance_s: 61, freeze: true }, actor)
    const send = async (caller: Caller, count: number, headers = {}) => {
      const replies: Reply[] = []
      for (let n = 0; n < count; n++) replies.push(await caller.get(PATH, headers))
      const words = ({ status, headers }: Reply) =>
        `${status} ${headers.ratelimit!.split(';t=')[0]}`
      return replies.map(words)
    }
    const asPerson = (index: number, count: number) =>
      send(service.as(undefined), count, bearerOf(tokens[index]!))
    assert.deepEqual((await asPerson(0, 10)).at(-1), '200 "customer";r=0')
    for (const index of [1, 2]) {
      assert.deepEqual(await asPerson(index, 3), [
        '200 "default";r=19',
        '200 "default";r=18',
        '429 "customer";r=0',
      ])
    }
    for (const mode of ['test', 'live'] as const) {
      const words = await send(service.as(await service.key({ mode })), 9)
      assert.deepEqual(words.slice(-2), ['200 "customer";r=0', '429 "customer";r=0'], mode)
    }
  },
  { env: { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_RATE_LIMIT: '20/60' } },
)

test('a quiet person passes, and the others stay within the total, on either limiter', async () => {
  const windowMs = 1000
  const steps = fc.array(
    fc.record({
      person: fc.nat(3),
      ms: fc.integer({ min: 0, max: 120 }),
      count: fc.integer({ min: 1, max: 6 }),
    }),
    { maxLength: 120 },
  )
  const given = fc.record({
    own: fc.integer({ min: 6, max: 50 }),
    total: fc.integer({ min: 6, max: 50 }),
    steps,
  })
  await fc.assert(
    fc.asyncProperty(given, async ({ own, total, steps }) => {
      let now = 1_800_000_000_000
      const clock = { now: () => now, elapsedMs: () => 0 }
      const exemptCount = Math.ceil(own / 10)
      for (const limiter of [
        createLocalLimiter(clock),
        createSharedLimiter(clock, createLocalDraw()),
      ]) {
        const allowed: { person: number; at: number; count: number; charge: number }[] = []
        for (const { person, ms, count } of steps) {
          now += ms
          const usedIn = (lengthMs: number) =>
            allowed
              .filter((use) => use.person === person && use.at > now - lengthMs)
              .reduce((sum, use) => sum + use.count, 0)
          const verdict = await limiter.take(
            [
              { key: `${person}`, rate: { limit: own, windowMs } },
              { key: 'total', rate: { limit: total, windowMs }, exemptCount },
            ],
            count,
          )
          // A slice, a twentieth of the window, counts until a window after its last request.
          const isQuiet = usedIn(windowMs * 1.06) + count <= exemptCount
          assert.ok(verdict.allowed || !isQuiet, 'a quiet person is refused')
          if (!verdict.allowed) continue
          const charge = Math.min(count, Math.max(0, usedIn(windowMs) + count - exemptCount))
          allowed.push({ person, at: now, count, charge })
          const sum = allowed
            .filter(({ at }) => at > now - windowMs)
            .reduce((charged, use) => charged + use.charge, 0)
          assert.ok(sum <= total, `${sum} of ${total}`)
        }
      }
    }),
    { seed: 1184, numRuns: 300 },
  )
})
