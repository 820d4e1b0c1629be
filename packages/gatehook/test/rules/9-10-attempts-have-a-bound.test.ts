/**
 * §9.10, §11.5: the stored attempts of a delivery have a bound in bytes, whatever receivers
 * respond. Lists and events with many deliveries are read within the bounds of a response.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import {
  ATTEMPT_BYTES_MAX,
  ATTEMPTS_BYTES_MAX,
  decodeAttempts,
  encodeAttempt,
} from '../../src/outbound/deliveries/delivery.ts'
import type { DeliveryResult } from '../../src/outbound/deliveries/ports.ts'
import { resultStatements } from '../../src/outbound/deliveries/result-store.ts'
import type { Outcome } from '../../src/outbound/transport/attempt.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const BODY_BYTES = 16_384
const answered = (body: string): Outcome => ({
  ...{ kind: 'answered', status: 500, durationMs: 1, body },
  headers: { server: '"'.repeat(4_000) },
})
const encode = (n: number, body: string) =>
  encodeAttempt({ n, at: 1, url: 'https://receiver.test/' }, answered(body))

/** Texts of 16 KiB, by what JSON makes of them. */
const BODIES = {
  'control characters': '\u0001'.repeat(BODY_BYTES),
  quotes: '"'.repeat(BODY_BYTES),
  'invalid UTF-8': '\ufffd'.repeat(BODY_BYTES),
  'control characters after letters': 'a'.repeat(BODY_BYTES / 2) + '\u0000'.repeat(BODY_BYTES / 2),
  'letters after control characters': '\u0000'.repeat(BODY_BYTES / 2) + 'a'.repeat(BODY_BYTES / 2),
  emoji: `${'\u0000'.repeat(BODY_BYTES / 2)}${'😀'.repeat(BODY_BYTES / 8)}`,
  JSON: JSON.stringify({ error: 'x'.repeat(BODY_BYTES - 20) }),
}

for (const [name, body] of Object.entries(BODIES)) {
  test(`an attempt has a bound with a response of ${name}`, () => {
    const text = encode(1, body)
    assert.ok(Buffer.byteLength(text) <= ATTEMPT_BYTES_MAX)
    const stored = decodeAttempts(text)[0]!.response_body!
    assert.ok(body.startsWith(stored) && stored.isWellFormed())
    assert.ok(stored.length > 2_000)
    assert.equal(stored === body, Buffer.byteLength(JSON.stringify(body)) < 20_000)
  })
}

const SCOPE = 10
const ids = ['dlv_a', 'dlv_b', 'dlv_c', 'dlv_d']

eachMigrated('a delivery stores its first attempt and the newest ones', async (db) => {
  for (const id of ids) {
    await db.write((tx) =>
      tx.run(sql`INSERT INTO gh_deliveries
        (id, scope, webhook_no, event_id, event_type, version, next_attempt_at, created_at)
        VALUES (${id}, ${SCOPE}, 1, 'evt_1', 'a.b', 'v1', 1, 1)`),
    )
  }
  const body = `${BODIES['control characters']}`
  for (let n = 1; n <= 12; n++) {
    const results = ids.map(
      (id): DeliveryResult => ({
        ...{ scope: SCOPE as never, id, state: 'pending', attempt: n, nextAt: 1 },
        record: encode(n, n === 9 ? 'short \u0000 "x"' : body),
      }),
    )
    // One statement for all, and one for each of a few.
    for (const part of [results, results.map((each) => ({ ...each, record: '' })).slice(0, 1)]) {
      await db.write(async (tx) => {
        for (const statement of resultStatements(part)) await tx.run(statement)
      })
    }
  }
  const rows = await db.arrays(sql`SELECT attempts, octet_length(attempts) FROM gh_deliveries`)
  assert.equal(rows.length, ids.length)
  for (const [attempts, bytes] of rows) {
    assert.ok(Number(bytes) <= ATTEMPTS_BYTES_MAX, `${bytes}`)
    const stored = decodeAttempts(String(attempts))
    assert.deepEqual(
      stored.map(({ n }) => n),
      [1, 10, 11, 12],
    )
    assert.ok(body.startsWith(stored[2]!.response_body!))
  }
})

const REGISTRATIONS = 50
const EVENT = 'evt_01jdq8w9vgk7'

/** Stores deliveries of an event, each with all the attempts that fit. */
async function store({ app }: TestApp, attempts: string, count: number) {
  const [customer] = await app.db.arrays(sql`SELECT no FROM gh_customers ORDER BY no LIMIT 1`)
  const scope = Number(customer![0]) * 2 + 1
  const series = sql`WITH RECURSIVE series(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < CAST(${count} AS BIGINT))`
  await app.db.write((tx) =>
    tx.run(sql`${series} INSERT INTO gh_deliveries (id, scope, webhook_no, event_id, event_type,
        version, state, created_at, attempts)
      SELECT 'dlv_' || substr(CAST(${EVENT} AS TEXT), 5) || (1000 + n), CAST(${scope} AS BIGINT), 1,
        CAST(${EVENT} AS TEXT), 'key.created', 'v1', 'delivered', 1, CAST(${attempts} AS TEXT)
      FROM series`),
  )
}

for (const [kind, attempts] of [
  ['large', Array.from({ length: 4 }, (_, n) => encode(n + 1, BODIES['control characters']))],
  [
    'many',
    Array.from({ length: 1_600 }, (_, n) => `[${n + 1},1780306200000,1,null,"https://a.b/"]`),
  ],
] as const) {
  eachService(`deliveries with ${kind} attempts are read within the bounds`, async (service) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const all = attempts.join(',').slice(0, ATTEMPTS_BYTES_MAX)
    const text =
      attempts.join(',').length > ATTEMPTS_BYTES_MAX ? all.replace(/,\[[^\]]*$/, '') : all
    await store(service, text, REGISTRATIONS)
    const expanded = await admin.get(`/admin/events/${EVENT}?expand=deliveries`)
    assert.equal(expanded.status, 200, expanded.text.slice(0, 200))
    assert.ok(expanded.text.length < 4 * 1024 * 1024, `${expanded.text.length}`)
    const { data } = expanded.body.deliveries
    assert.equal(data.length, REGISTRATIONS)
    const whole = decodeAttempts(text).length
    assert.equal(data[0].attempts.length, whole)
    assert.equal(data.at(-1).attempts.length, Math.min(10, whole))
    assert.ok(data.at(-1).attempts.every((each: { n: number }) => each.n > whole - 10))
    let listed = 0
    for (let cursor = ''; cursor !== undefined; ) {
      const page = await admin.get(`/admin/deliveries?limit=100${cursor && `&cursor=${cursor}`}`)
      assert.equal(page.status, 200, page.text.slice(0, 200))
      listed += page.body.data.length
      cursor = page.body.has_more ? page.body.next_cursor : undefined
    }
    assert.equal(listed, REGISTRATIONS)
  })
}
