/**
 * §13, §18.11: the warrant of an erasure removes names from rows of its person or customer alone,
 * and ends with the erasure. `gatehook audit verify` reports other removals.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { auditActions } from '../../src/history/audit/actions.ts'
import type { AuditPrincipal } from '../../src/history/audit/actor.ts'
import type { ClearingWarrant } from '../../src/history/audit/chain.ts'
import { recordAudit } from '../../src/history/audit/store.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { letterbox } from '../fixtures/letters.ts'

const LETTERS = { service: letterbox }

interface StoredJob {
  readonly id: string
  readonly input: string
}

/** Begins the erasure of an ordinary person; returns it, its job and its warrant. */
async function beginErasure(service: TestApp) {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const address = { email: 'ann@members.example', profile: { city: 'Bath' } }
  const person = { given_name: 'Ann', interests: [], ...address }
  const { body: member } = await service.post('/api/v2/members', person)
  const reply = await admin.delete(`/admin/users/${member.id}`)
  assert.equal(reply.status, 202, reply.text)
  const id: string = reply.body.job_id
  const job = (await service.app.db.get(sql`SELECT id, input FROM gh_jobs WHERE id = ${id}`))!
  const { warrant } = JSON.parse(String(job.input)) as { warrant: ClearingWarrant }
  return { admin, member: String(member.id), job: job as unknown as StoredJob, warrant }
}

/** Records an operation, and returns the position of its row. */
async function record(
  { db, administration }: TestApp['app'],
  actor: AuditPrincipal,
  { action, target, scope }: { action: string; target: string; scope: number },
): Promise<number> {
  const entry = { actor, action, target, scope, detail: { scopes: ['admin'] } }
  const id = await db.write((tx) => recordAudit(tx, entry, administration))
  return Number((await db.get(sql`SELECT position FROM gh_audit WHERE id = ${id}`))!.position)
}

const readRow = async ({ db }: TestApp['app'], position: number) =>
  (await db.get(sql`SELECT id, cleared, salt, detail FROM gh_audit WHERE position = ${position}`))!

/** Removes the text of a row, as a job of an erasure does. */
const clear = ({ db, administration }: TestApp['app'], at: number, warrant: ClearingWarrant) =>
  db.write(async (tx) => {
    await administration.trail.proveClearing(tx, [at], warrant)
    await tx.run(sql`UPDATE gh_audit SET actor_name = NULL, address = NULL, detail = '{}',
      salt = NULL WHERE position = ${at}`)
  })

eachService(
  'the warrant of a person proves no removal from operations of others',
  async (service) => {
    const { app } = service
    const { member, warrant } = await beginErasure(service)
    const [scope] = warrant.scopes as [number]
    const isProved = async (actor: AuditPrincipal, action: string, target: string) => {
      const position = await record(app, actor, { action, target, scope })
      const { trail } = app.administration
      await app.db.write((tx) => trail.proveClearing(tx, [position], warrant))
      return (await readRow(app, position)).cleared !== null
    }
    for (const kind of ['operator', 'key', 'client', 'workload', 'cli'] as const) {
      for (const action of Object.keys(auditActions)) {
        const isOne = await isProved({ kind, id: 'other', name: 'Other', scope }, action, 'key_1')
        assert.equal(isOne, false, `${action} by ${kind}`)
      }
      assert.equal(await isProved({ kind, id: 'x' }, 'person.update', member), true, kind)
    }
    assert.equal(await isProved({ kind: 'person', id: member }, 'webhook.create', 'w_1'), true)
  },
  LETTERS,
)

eachService(
  'a warrant of an ended erasure, or of another one, clears no row of the trail',
  async (service) => {
    const { app } = service
    const { member, job, warrant } = await beginErasure(service)
    const [scope] = warrant.scopes as [number]
    await app.erasure.runDue()
    assert.equal((await app.audit.verify()).valid, true)
    const operator = { kind: 'operator', id: 'op_1', name: 'Eve' } as const
    const target = 'key_1'
    const position = await record(app, operator, { action: 'key.create', target, scope })
    const before = await readRow(app, position)
    await assert.rejects(clear(app, position, warrant), /has ended/)

    const inputs = [
      job.input,
      JSON.stringify({ ...JSON.parse(job.input), warrant: { ...warrant, target: '7' } }),
      JSON.stringify({ warrant, pass: 5, changed: 0, step: 'gh_audit', position: { owner: 0 } }),
    ]
    for (const name of ['erase_person', 'delete_customer']) {
      for (const input of inputs) {
        const kind = name === 'erase_person' ? 'erasure' : 'deletion'
        await app.db.write((tx) =>
          tx.run(sql`UPDATE gh_jobs SET kind = ${kind}, name = ${name}, state = 'waiting',
            run_at = 0, ended_at = NULL, purge_at = NULL, started_at = NULL, attempt = 0,
            node = NULL, input = ${input} WHERE id = ${job.id}`),
        )
        await app.erasure.runDue()
        assert.deepEqual(await readRow(app, position), before, `${name} ${input}`)
      }
    }
    assert.ok(
      await app.db.get(sql`SELECT 1 AS one FROM gh_audit
      WHERE action = 'person.erased' AND target = ${member}`),
    )
    assert.equal((await app.audit.verify()).valid, true)
  },
  LETTERS,
)

eachService(
  'values that another program adds to an erasure stop it',
  async (service) => {
    const { app } = service
    const { admin, job } = await beginErasure(service)
    const { values, ...rest } = JSON.parse(job.input)
    values.names.values = ['other@members.example']
    const input = JSON.stringify({ ...rest, values })
    await app.db.write((tx) =>
      tx.run(sql`UPDATE gh_jobs SET input = ${input} WHERE id = ${job.id}`),
    )
    await app.erasure.runDue()
    const { body } = await admin.get(`/admin/jobs/${job.id}`)
    assert.deepEqual([body.state, body.attempt], ['waiting', 1], JSON.stringify(body))
    assert.match(JSON.stringify(body.error), /warrant/)
  },
  LETTERS,
)

eachService(
  'a removal that no erasure of the trail explains breaks the chain',
  async (service) => {
    const { app } = service
    const { warrant } = await beginErasure(service)
    const [scope] = warrant.scopes as [number]
    const { trail } = app.administration
    const { cause, action, target } = warrant
    const operator = { kind: 'operator', id: 'op_1', name: 'Eve' } as const
    const create = { action: 'key.create', target: 'key_1', scope }
    const { position } = (await app.db.get(sql`SELECT MIN(position) AS position FROM gh_audit`))!
    const start = String((await readRow(app, Number(position))).id)
    assert.equal((await app.audit.verify()).valid, true)
    for (const forged of [
      { action: 'customer.delete', target, scopes: [scope], cause },
      { action: 'customer.delete', target, scopes: [scope], cause: start },
      { action: 'customer.delete', target, scopes: [scope], cause: 'aud_0' },
      { action, target: 'key_1', scopes: [scope], cause },
    ] as const) {
      const at = await record(app, operator, create)
      const content = await app.db.get(sql`SELECT * FROM gh_audit WHERE position = ${at}`)
      await clear(app, at, trail.warrantFor(forged))
      const { broken } = await app.audit.verify()
      assert.equal(broken?.id, content!.id, JSON.stringify(forged))
      assert.match(broken?.reason ?? '', /no erasure of the trail explains/)
      const { actor_name, address, detail, salt } = content!
      await app.db.write((tx) =>
        tx.run(sql`UPDATE gh_audit SET actor_name = ${actor_name}, address = ${address},
          detail = ${detail}, salt = ${salt}, cleared = NULL WHERE position = ${at}`),
      )
      assert.equal((await app.audit.verify()).valid, true)
    }
  },
  LETTERS,
)
