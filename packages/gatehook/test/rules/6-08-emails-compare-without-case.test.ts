/** §6.8: filters by e-mail ignore case, and an index serves them (§7.9). */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'

const access = {
  read: 'letters:read',
  create: 'letters:write',
  update: 'letters:write',
  delete: 'letters:write',
} as const

const letters = resource('letters', {
  fields: { id: f.id(), sender: f.email(), copy_to: f.email().unique() },
  list: { filter: ['sender', 'copy_to'], sort: ['id'] },
  access,
  events: [],
})

const post = service({
  name: 'post',
  versions: { v1: { released: '2026-01-01' } },
  resources: [letters],
})

eachService(
  'a filter finds an e-mail without case, and responses have the stored case',
  async (service) => {
    const senders = ['Ada@Example.com', 'ada@example.com', 'eve@example.com']
    for (const [n, sender] of senders.entries()) {
      const createReply = await service.post('/api/v1/letters', { sender, copy_to: `C${n}@x.io` })
      assert.equal(createReply.status, 201, createReply.text)
    }
    const of = async (query: string) =>
      (await service.get(`/api/v1/letters?${query}`)).body.data.map(
        (row: { sender: string }) => row.sender,
      )
    assert.deepEqual(await of('sender=ADA@EXAMPLE.COM'), senders.slice(0, 2))
    assert.deepEqual(await of('sender[in]=EVE@example.com,x@x.io'), senders.slice(2))
    assert.deepEqual(await of('copy_to=c1@X.IO'), senders.slice(1, 2))
    const { db } = service.app
    if (db.name !== 'sqlite') return
    for (const column of ['sender', 'copy_to']) {
      const plan = await db.all(
        sql`EXPLAIN QUERY PLAN SELECT id FROM letters WHERE scope = 2
          AND ${raw(`gh_folded_${column}`)} = 'a' ORDER BY id LIMIT 21`,
      )
      assert.match(String(plan[0]?.detail), /\(scope=\? AND gh_folded_\w+=\?\)/, column)
    }
  },
  { service: post },
)
