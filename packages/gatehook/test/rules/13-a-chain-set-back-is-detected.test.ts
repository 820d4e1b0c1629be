/**
 * §13: another program deletes the newest audit rows, and writes an earlier copy of the head back.
 * All HMACs are valid then. A node that knew the rows reports it, once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { createLog } from '../../src/kernel/log.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const readHead = async (db: Database) =>
  (await db.get(sql`SELECT seq, hash, mac FROM gh_audit_chain WHERE name = 'head'`))!

type StoredHead = Awaited<ReturnType<typeof readHead>>

/** Deletes the rows after a head, and stores it. */
const setBack = (db: Database, { seq, hash, mac }: StoredHead) =>
  db.write(async (tx) => {
    await tx.run(sql`DELETE FROM gh_audit WHERE seq > ${seq}`)
    await tx.run(sql`UPDATE gh_audit_chain SET seq = ${seq}, hash = ${hash}, mac = ${mac}
      WHERE name = 'head'`)
  })

const appendAll = ({ app }: TestApp) => app.audit.chores.audit!()

/** Writes rows and appends them; returns the head before and after them. */
async function writeRows(service: TestApp, name: string) {
  await appendAll(service)
  const before = await readHead(service.app.db)
  const admin = service.as(await service.key({ mode: 'live', scopes: ['admin'] }))
  for (let n = 0; n < 3; n++) await admin.post('/admin/customers', { name: `${name} ${n}` })
  await appendAll(service)
  return { before, after: await readHead(service.app.db), admin }
}

const listSetBacks = async ({ app: { db } }: TestApp) => {
  const rows = await db.all(sql`SELECT detail FROM gh_audit WHERE action = 'audit.set_back'`)
  return rows.map(({ detail }) => JSON.parse(String(detail)))
}

for (const { name: kind } of databases) {
  test(`a chain set back is logged, recorded and an item of attention [${kind}]`, async (t) => {
    const lines: string[] = []
    const log = createLog({ level: 'error', destination: { write: (line) => lines.push(line) } })
    const service = await openService(t, kind, { log })
    const { db, audit } = service.app
    const { before, after, admin } = await writeRows(service, 'A')
    await setBack(db, before)
    assert.equal((await audit.verify()).valid, true, 'the remaining chain is valid')
    await appendAll(service)
    await appendAll(service)
    const expected = { seq: after.seq, hash: after.hash }
    const stored = { seq: before.seq, hash: before.hash }
    assert.deepEqual(await listSetBacks(service), [{ expected, stored }])
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /the audit chain was set back/)
    const { data } = (await admin.get('/admin/attention')).body
    const [item] = data.filter((row: { kind: string }) => row.kind === 'audit_set_back')
    assert.deepEqual(
      [item.severity, item.facts],
      ['bad', { last_seq: after.seq, last_hash: after.hash, stored_seq: before.seq }],
    )
  })

  test(`another node continued the shortened chain [${kind}]`, async (t) => {
    const first = await openService(t, kind)
    const { before, after } = await writeRows(first, 'A')
    const second = await openService(t, kind, { url: first.url })
    await setBack(first.app.db, before)
    const longer = await writeRows(second, 'B')
    assert.ok(longer.after.seq >= after.seq)
    assert.deepEqual(await listSetBacks(second), [], 'it knew no other row')
    await appendAll(first)
    const [{ expected, stored }] = await listSetBacks(first)
    assert.deepEqual([expected.seq, stored.seq], [after.seq, longer.after.seq])
    await appendAll(second)
    assert.equal((await listSetBacks(second)).length, 1)
  })

  test(`rows of other nodes, and a purge, set no chain back [${kind}]`, async (t) => {
    const env = { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_AUDIT_RETENTION_DAYS: '10' }
    const first = await openService(t, kind, { env })
    await writeRows(first, 'A')
    const second = await openService(t, kind, { env, url: first.url })
    const { admin } = await writeRows(second, 'B')
    await appendAll(first)
    await admin.post('/admin/clock', { advance_s: 12 * 86_400 })
    await admin.post('/admin/customers', { name: 'young' })
    await appendAll(second)
    await appendAll(first)
    assert.deepEqual(await listSetBacks(first), [])
    assert.equal((await first.app.audit.verify()).valid, true)
  })
}
