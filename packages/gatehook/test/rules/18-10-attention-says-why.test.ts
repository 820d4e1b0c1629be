/** §18.10: items of attention say why: a schedule that does not run, receivers, rejected keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { readKeyEnds } from '../../src/identity/access/key-reader.ts'
import { lateSchedules } from '../../src/operate/monitoring/attention-jobs.ts'
import type { AttentionSources } from '../../src/operate/monitoring/attention-kind.ts'
import { failingEndpoints } from '../../src/operate/monitoring/attention-receivers.ts'
import { inputOfRun } from '../../src/platform/jobs/schedule.ts'
import { sql } from '../../src/platform/storage/sql.ts'

/** The facts of a kind. */
const factsOf = ({ facts }: { readonly facts: object }) =>
  facts as Readonly<Record<string, unknown>>

const NOW = Date.UTC(2026, 10, 30, 12)
const MINUTE_MS = 60_000

/** Sources whose database answers with rows by a part of the statement. */
const sourcesOf = (rows: Readonly<Record<string, (values: readonly unknown[]) => object[]>>) => {
  const find = ({ text, values }: { text: string; values: readonly unknown[] }) =>
    Object.entries(rows).find(([part]) => text.includes(part))?.[1](values) ?? []
  const db = {
    all: async (statement: never) => find(statement),
    get: async (statement: never) => find(statement)[0],
  }
  return { db } as unknown as AttentionSources
}

test('a schedule without a run within two of its intervals is named', async () => {
  const run = (name: string, every: string, inMs: number) => {
    const run_at = NOW + inMs
    return { name, run_at, input: inputOfRun(every, run_at) }
  }
  const runs = [
    run('next', '10s', 10_000),
    run('just_due', '10s', -25_000),
    run('never', '10s', 28 * 365 * 86_400_000),
    run('due', '10s', -90_000),
    run('weekend', '0 9 * * 1-5', 3 * 86_400_000),
    run('month', '0 9 * * 1', 30 * 86_400_000),
  ]
  const items = await lateSchedules(sourcesOf({ 'schedule IS NOT NULL': () => runs }), NOW)
  assert.deepEqual(
    items.map((item) => {
      const { every, is_due } = factsOf(item)
      return [item.kind, item.subject.id, every, is_due]
    }),
    [
      ['schedule_late', 'never', '10s', false],
      ['schedule_late', 'due', '10s', true],
      ['schedule_late', 'month', '0 9 * * 1', false],
    ],
  )
})

test('receivers that fail say why, and those of one cause are one item', async () => {
  const dns = 'address: the host name leads to no address that may be called'
  const errors = [dns, dns, dns, 'the receiver answered 500', 'the receiver answered 500']
  const rows = errors.map((_, no) => ({
    ...{ no, scope: 2, id: `whk_${no}`, url: `https://r${no}.example`, mode: 0, customer: 'cus_1' },
    ...{ first_failure_at: NOW - (no + 1) * MINUTE_MS, last_failure_at: NOW },
  }))
  const attemptsOf = (no: number) =>
    [500, 900].map((at) => JSON.stringify([1, at, 5, at === 900 ? errors[no] : 'x', 'u'])).join()
  const sources = sourcesOf({
    'first_failure_at IS NOT NULL': () => rows,
    'attempts FROM gh_deliveries': ([, no]) => [{ id: 'dlv_1', attempts: attemptsOf(Number(no)) }],
  })
  const items = await failingEndpoints(sources, NOW)
  assert.deepEqual(
    items.map((item) => [item.kind, factsOf(item).cause]),
    [
      ['endpoints_failing', dns],
      ['endpoint_failing', 'the receiver answered 500'],
      ['endpoint_failing', 'the receiver answered 500'],
    ],
  )
  const [shared] = items
  assert.equal(shared!.since, new Date(NOW - 3 * MINUTE_MS).toISOString())
  assert.deepEqual(
    [factsOf(shared!).receivers, factsOf(shared!).urls],
    [3, rows.slice(0, 3).map(({ url }) => url)],
  )
})

eachService('a rejected key says whether it has ended, or where it is valid', async (service) => {
  const { db } = service.app
  await service.key()
  const [row] = await db.all(sql`SELECT id FROM gh_api_keys ORDER BY id DESC LIMIT 1`)
  const id = String(row!.id)
  const readAfter = async (change: ReturnType<typeof sql>) => {
    await db.write((tx) => tx.run(change))
    return (await readKeyEnds(db, [id], NOW)).get(id)
  }
  assert.equal((await readKeyEnds(db, [id], NOW)).get(id), undefined)
  assert.match(
    (await readAfter(sql`UPDATE gh_api_keys SET cidrs = '["10.0.0.0/8"]' WHERE id = ${id}`))!,
    /^it is valid from 10\.0\.0\.0\/8 only/,
  )
  assert.equal(
    await readAfter(sql`UPDATE gh_api_keys SET expires_at = ${NOW - 1} WHERE id = ${id}`),
    'it has expired at 2026-11-30T11:59:59.999Z',
  )
  assert.equal(
    await readAfter(sql`UPDATE gh_api_keys SET revoked_at = ${NOW - 2} WHERE id = ${id}`),
    'it was revoked at 2026-11-30T11:59:59.998Z',
  )
  assert.equal((await readKeyEnds(db, [], NOW)).size, 0)
})
