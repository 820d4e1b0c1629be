/** §13: audit rows form a hash chain, and `gatehook audit verify` finds the first broken row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import type { ClearingGrant, ClearingWarrant } from '../../src/history/audit/chain.ts'
import { findRowsAfter } from '../../src/history/audit/chain-store.ts'
import { recordAudit } from '../../src/history/audit/store.ts'
import { PAGE_BYTES } from '../../src/platform/storage/page-bytes.ts'
import { type Sql, sql } from '../../src/platform/storage/sql.ts'

const adminClient = async ({ as, key }: TestApp) =>
  as(await key({ mode: 'live', scopes: ['admin'] }))

const listRows = async (service: TestApp) => {
  const { body } = await (await adminClient(service)).get('/admin/audit?sort=at&limit=100')
  return body.data.toSorted((a: { seq: number }, b: { seq: number }) => a.seq - b.seq)
}

/** Writes at least six rows. */
async function writeRows(service: TestApp): Promise<void> {
  const admin = await adminClient(service)
  for (const name of ['A', 'B', 'C']) await admin.post('/admin/customers', { name })
}

const findBroken = async ({ app }: TestApp) => {
  const { valid, broken } = await app.audit.verify()
  assert.equal(valid, false)
  return broken!
}

eachService('rows are linked from the start row without a gap', async (service) => {
  await writeRows(service)
  const rows = await listRows(service)
  assert.equal(rows[0].action, 'audit.start')
  assert.equal(rows[0].previous_hash, '0'.repeat(64))
  rows.forEach((row: { seq: number; hash: string; previous_hash: string }, at: number) => {
    assert.equal(row.seq, at + 1)
    assert.match(row.hash, /^[0-9a-f]{64}$/)
    if (at > 0) assert.equal(row.previous_hash, rows[at - 1].hash)
  })
  const report = await service.app.audit.verify()
  assert.deepEqual(
    { valid: report.valid, rows: report.rows, broken: report.broken },
    { valid: true, rows: rows.length, broken: null },
  )
})

eachService('a change of any column is detected, and the report names the row', async (service) => {
  const { db } = service.app
  await writeRows(service)
  const [, , row] = await listRows(service)
  const columns = [
    'at',
    'scope',
    'actor_kind',
    'actor_id',
    'actor_name',
    'address',
    'request_id',
    'node',
  ]
  const content = ['action', 'target', 'detail', 'salt', 'digest', 'tag', 'hash', 'previous_hash']
  for (const column of [...columns, ...content]) {
    const before = (
      await db.all({
        sql: `SELECT ${column} AS value FROM gh_audit WHERE id = ?`,
        values: [row.id],
        text: `SELECT ${column} AS value FROM gh_audit WHERE id = $1`,
      })
    )[0]!.value
    const setColumn = (value: unknown) =>
      db.write((tx) =>
        tx.run({
          sql: `UPDATE gh_audit SET ${column} = ? WHERE id = ?`,
          text: `UPDATE gh_audit SET ${column} = $1 WHERE id = $2`,
          values: [value, row.id],
        }),
      )
    await setColumn(['at', 'scope'].includes(column) ? 1 : 'x')
    assert.equal((await findBroken(service)).id, row.id, column)
    await setColumn(before)
    assert.equal((await service.app.audit.verify()).valid, true, column)
  }
})

/** Records the beginning of an erasure, and returns its warrant. */
async function issueWarrant(
  { db, administration }: TestApp['app'],
  reason: Pick<ClearingGrant, 'action' | 'target' | 'scopes'>,
): Promise<ClearingWarrant> {
  const actor = { kind: 'system', id: 'test' } as const
  const { action, target, scopes } = reason
  const of = action === 'person.erase' ? { scope: scopes[0] } : { detail: { scopes } }
  const entry = { actor, action, target, ...of }
  const cause = await db.write((tx) => recordAudit(tx, entry, administration))
  return administration.trail.warrantFor({ ...reason, cause })
}

eachService('names and details can be removed by the service alone, together', async (service) => {
  const { db, administration } = service.app
  const { trail } = administration
  await writeRows(service)
  const rows: { id: string; action: string; address: string | null }[] = await listRows(service)
  const { id } = rows.find(({ action, address }) => action === 'customer.create' && address)!
  const { scope } = (await db.get(sql`SELECT scope FROM gh_audit WHERE id = ${id}`))!
  const reason = { action: 'customer.delete', target: 'cus_1', scopes: [Number(scope)] } as const
  const warrant = await issueWarrant(service.app, reason)
  const change = (changes: Sql) =>
    db.write((tx) => tx.run(sql`UPDATE gh_audit SET ${changes} WHERE id = ${id}`))
  const prove = async () => {
    const { position } = (await db.get(sql`SELECT position FROM gh_audit WHERE id = ${id}`))!
    await db.write((tx) => trail.proveClearing(tx, [Number(position)], warrant))
  }
  const content = await db.get(sql`SELECT salt, actor_name, address, detail FROM gh_audit
    WHERE id = ${id}`)
  await change(sql`actor_name = NULL, address = NULL, detail = '{}'`)
  assert.equal((await findBroken(service)).id, id, 'the salt is left')
  await change(sql`salt = NULL`)
  assert.equal((await findBroken(service)).id, id, 'another program removed them')
  await prove()
  assert.equal((await findBroken(service)).id, id, 'no erasure proves it later')
  const { salt, actor_name, address, detail } = content!
  await change(sql`salt = ${salt}, actor_name = ${actor_name}, address = ${address},
    detail = ${detail}`)
  await prove()
  await change(sql`actor_name = NULL, address = NULL, detail = '{}', salt = NULL`)
  const report = await service.app.audit.verify()
  assert.deepEqual([report.valid, report.broken], [true, null])
  for (const forged of [sql`actor_name = 'Eve'`, sql`address = '::1'`, sql`detail = '{"a":1}'`]) {
    await change(forged)
    assert.equal((await findBroken(service)).id, id)
    await change(sql`actor_name = NULL, address = NULL, detail = '{}'`)
  }
  await change(sql`cleared = 'x'`)
  assert.equal((await findBroken(service)).id, id)
})

eachService('no removal has a proof without its reason, or of a changed row', async (service) => {
  const { db, administration, audit } = service.app
  const { trail } = administration
  await writeRows(service)
  const rows: { id: string; action: string; address: string | null }[] = await listRows(service)
  const { id } = rows.find(({ action, address }) => action === 'customer.create' && address)!
  const read = async () => (await db.get(sql`SELECT * FROM gh_audit WHERE id = ${id}`))!
  const { position, scope, salt, detail, address } = await read()
  const reason = { action: 'customer.delete', target: 'cus_1', scopes: [Number(scope)] } as const
  const warrant = await issueWarrant(service.app, reason)
  const prove = (more: object) =>
    db.write((tx) => trail.proveClearing(tx, [Number(position)], { ...warrant, ...more }))
  const setScope = (value: unknown) =>
    db.write((tx) => tx.run(sql`UPDATE gh_audit SET scope = ${Number(value)} WHERE id = ${id}`))

  for (const forged of [{ target: 'cus_2' }, { cause: id }, { values: 'x' }, { proof: '' }]) {
    await assert.rejects(prove(forged), /warrant of the erasure was changed/)
  }
  await prove(await issueWarrant(service.app, { ...reason, scopes: [Number(scope) + 2] }))
  const person = await issueWarrant(service.app, { ...reason, action: 'person.erase' })
  await prove(person)
  await setScope(Number(scope) + 2)
  await prove({})
  assert.equal((await read()).cleared, null)
  await setScope(scope)
  const replaced = { position: Number(position), detail: '{"name":"erased"}' }
  await db.write((tx) => trail.replaceDetail(tx, replaced, person))
  const row = await read()
  assert.deepEqual([row.detail, row.salt, row.address], [replaced.detail, null, address])
  assert.equal((await audit.verify()).valid, true)
  for (const change of [sql`detail = ${detail}`, sql`address = NULL`, sql`salt = ${salt}`]) {
    const { detail, salt } = await read()
    await db.write((tx) => tx.run(sql`UPDATE gh_audit SET ${change} WHERE id = ${id}`))
    assert.equal((await findBroken(service)).id, id)
    await db.write((tx) =>
      tx.run(sql`UPDATE gh_audit SET detail = ${detail}, address = ${address}, salt = ${salt}
        WHERE id = ${id}`),
    )
  }
  await prove({})
  const removed = sql`actor_name = NULL, address = NULL, detail = '{}'`
  await db.write((tx) => tx.run(sql`UPDATE gh_audit SET ${removed} WHERE id = ${id}`))
  assert.equal((await audit.verify()).valid, true, 'a second erasure removes the rest')
})

eachService(
  'pages of the chain are bounded by bytes, and each row is verified',
  async (service) => {
    const { db, audit, administration } = service.app
    const actor = { kind: 'system', id: 'test' } as const
    const detail = { text: 'x'.repeat(PAGE_BYTES / 2) }
    const entry = { actor, action: 'customer.update', target: 'test', detail }
    for (let n = 0; n < 4; n++) await db.write((tx) => recordAudit(tx, entry, administration))
    const report = await audit.verify()
    assert.deepEqual([report.valid, report.rows >= 4], [true, true])
    let rows = 0
    for (let seq = 0; seq < report.last.seq; ) {
      const page = await findRowsAfter(db, seq, report.last.seq, 1000)
      const bytes = page.reduce((sum, row) => sum + row.detail.length, 0)
      assert.ok(bytes <= PAGE_BYTES, `${bytes} bytes in ${page.length} rows`)
      seq = page.at(-1)!.seq!
      rows += page.length
    }
    assert.equal(rows, report.rows)
  },
)

eachService('a deleted row and a truncated chain are detected', async (service) => {
  const { db } = service.app
  await writeRows(service)
  const rows = await listRows(service)
  const last = rows.at(-1)
  await db.write((tx) => tx.run(sql`DELETE FROM gh_audit WHERE seq = ${last.seq}`))
  assert.match((await findBroken(service)).reason, /are missing$/)
  await db.write((tx) => tx.run(sql`DELETE FROM gh_audit WHERE seq = 3`))
  const { id, reason } = await findBroken(service)
  assert.equal(id, rows[3].id)
  assert.match(reason, /rows 3 to 3 .* missing/)
})

eachService(
  'a head that was moved back is detected, and no row is appended to it',
  async (service) => {
    const { db, audit } = service.app
    await writeRows(service)
    const rows = await listRows(service)
    const [last, end] = [rows.at(-1), rows.at(-2)]
    await db.write(async (tx) => {
      await tx.run(sql`DELETE FROM gh_audit WHERE seq = ${last.seq}`)
      await tx.run(sql`UPDATE gh_audit_chain SET seq = ${end.seq}, hash = ${end.hash}
      WHERE name = 'head'`)
    })
    await (await adminClient(service)).post('/admin/customers', { name: 'D' })
    await assert.rejects(audit.chores.audit!(), /head of the audit chain was changed/)
    assert.match((await findBroken(service)).reason, /head of the audit chain was changed/)
  },
)

eachService('a row that the service did not write is detected', async (service) => {
  const { db } = service.app
  await db.write((tx) =>
    tx.run(sql`INSERT INTO gh_audit (id, at, actor_kind, actor_id, action, target)
      VALUES ('aud_forged', 1, 'cli', 'root', 'key.create', 'key_1')`),
  )
  await writeRows(service)
  assert.deepEqual(
    { ...(await findBroken(service)), seq: 0 },
    {
      id: 'aud_forged',
      seq: 0,
      at: '1970-01-01T00:00:00.001Z',
      reason: 'it has no tag: it was not written by the service',
    },
  )
})

eachService('a row that is changed before it is chained is detected', async (service) => {
  const { db } = service.app
  await writeRows(service)
  const trail = service.app.administration
  await db.write(async (tx) => {
    const entry = {
      actor: { kind: 'cli', id: 'x' },
      action: 'key.create',
      target: 'key_1',
    } as const
    const id = await recordAudit(tx, entry, trail)
    await tx.run(sql`UPDATE gh_audit SET target = 'key_2' WHERE id = ${id}`)
  })
  assert.match((await findBroken(service)).reason, /content does not match its tag/)
})

eachService(
  'retention purges the oldest rows, and the remaining chain stays valid',
  async (service) => {
    const { app } = service
    await writeRows(service)
    const before = await listRows(service)
    const clock = await adminClient(service)
    const purge = app.audit.chores.audit!
    assert.equal(await purge(), 0)
    await clock.post('/admin/clock', { advance_s: 12 * 86_400 })
    await clock.post('/admin/customers', { name: 'young' })
    assert.ok((await purge()) >= before.length)
    const after = await listRows(service)
    assert.equal(
      after.some(({ id }: { id: string }) => before.some((old: { id: string }) => old.id === id)),
      false,
    )
    assert.ok(after.some(({ action }: { action: string }) => action === 'audit.purge'))
    const report = await app.audit.verify()
    assert.equal(report.valid, true)
    assert.ok(report.purged_through >= before.length)
    await app.db.write((tx) =>
      tx.run(sql`UPDATE gh_audit_chain SET seq = seq + 1 WHERE name = 'anchor'`),
    )
    assert.match((await findBroken(service)).reason, /anchor of the audit chain was changed/)
  },
  { env: { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_AUDIT_RETENTION_DAYS: '10' } },
)

eachService('--expect detects that the chain lacks a noted hash', async (service) => {
  const { audit } = service.app
  await writeRows(service)
  const { last } = await audit.verify()
  await writeRows(service)
  assert.equal((await audit.verify({ expect: last.hash })).valid, true)
  const report = await audit.verify({ expect: 'f'.repeat(64) })
  assert.deepEqual([report.valid, report.expected, report.broken], [false, false, null])
})

for (const kind of ['sqlite', 'postgres'] as Kind[]) {
  test(`rows from before the chain follow its start row [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const first = await openService(t, kind, { url })
    const { db } = first.app
    // The state that an older release leaves: rows without tags, and no chain.
    await db.write(async (tx) => {
      await tx.run(sql`DELETE FROM gh_audit_chain`)
      await tx.run(sql`DELETE FROM gh_audit WHERE action = 'audit.start'`)
      await tx.run(sql`UPDATE gh_audit SET tag = NULL, seq = NULL, hash = NULL,
        previous_hash = NULL`)
    })
    const { total } = (await db.get(sql`SELECT COUNT(*) AS total FROM gh_audit`))!
    await first.app.close()
    const upgraded = await openService(t, kind, { url })
    const rows = await listRows(upgraded)
    assert.deepEqual(
      [rows[0].action, rows[0].detail],
      ['audit.start', { rows_before: Number(total) }],
    )
    assert.equal((await upgraded.app.audit.verify()).valid, true)
    const change = sql`UPDATE gh_audit SET target = 'x' WHERE seq = 2`
    await upgraded.app.db.write((tx) => tx.run(change))
    assert.equal((await findBroken(upgraded)).seq, 2)
  })
}

for (const kind of ['sqlite', 'postgres'] as Kind[]) {
  test(`two nodes that write and append at the same time share one chain [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const nodes = [await openService(t, kind, { url }), await openService(t, kind, { url })]
    const actor = { kind: 'cli', id: 'x' } as const
    const writes = Array.from({ length: 60 }, async (_, n) => {
      const { db, administration, audit } = nodes[n % 2]!.app
      const entry = { actor, action: 'key.create', target: `key_${n}` }
      await db.write((tx) => recordAudit(tx, entry, administration))
      if (n % 5 === 0) await audit.chores.audit!()
    })
    await Promise.all(writes)
    const { audit, db } = nodes[0]!.app
    const report = await audit.verify()
    assert.equal(report.valid, true)
    const { total } = (await db.get(sql`SELECT COUNT(*) AS total FROM gh_audit`))!
    assert.equal(report.rows, Number(total))
  })
}
