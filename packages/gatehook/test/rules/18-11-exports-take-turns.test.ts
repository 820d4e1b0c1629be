/**
 * §18.11, §11.5: while an export runs, other requests run between two of its pages, and it ends
 * with the page in which its caller leaves. SQLite returns rows without a turn of the event loop.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import type { Stream } from '../../src/protocol/http/call.ts'
import { sendParts } from '../../src/protocol/http/send-parts.ts'
import { letterbox } from '../fixtures/letters.ts'
import { fill } from '../lists/rows.ts'

const LETTERS = 2_500
const EVENTS = 120
/** The largest page of an export, with the statements beside it. */
const TURN_ROWS_MAX = 450
/** Two pages of the export of a person, or one with its rows. */
const PAGE_ROWS_MAX = 110

/** Counts the rows that statements return, the most in one turn, and since the last reset. */
function watchRows(db: Database) {
  const seen = { mostInTurn: 0, rows: 0 }
  let inTurn = 0
  const { arrays } = db
  const watched: typeof arrays = async (statement) => {
    const rows = await arrays.call(db, statement)
    if (inTurn === 0) setImmediate(() => (inTurn = 0))
    inTurn += rows.length
    seen.rows += rows.length
    seen.mostInTurn = Math.max(seen.mostInTurn, inTurn)
    return rows
  }
  Object.assign(db, { arrays: watched })
  return seen
}

test('an export runs in turns with other requests, and ends with its caller', async (t) => {
  const { app, as, key, post } = await openService(t, 'sqlite', { service: letterbox })
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const member = { interests: [], profile: { city: 'X' } }
  const { body: person } = await post('/api/v2/members', {
    ...{ ...member, given_name: 'Ada', email: 'ada@example.com' },
  })
  assert.ok(person.id)
  await fill(app.db, 'letters', LETTERS, {
    ...{ id: "printf('ltr_%06d', n)", member_id: String(person.id), address: "'a'" },
    ...{ code: "'c' || n", weight: 'n' },
  })
  for (let n = 0; n < EVENTS; n++) {
    const event = { type: 'parcel.weighed', object: { recipient: 'x@example.com' } }
    assert.equal((await post('/events', event)).status, 201)
  }
  const seen = watchRows(app.db)
  const ofPerson = `/admin/users/${person.id}/export`
  const exports = [
    ['person', () => admin.get(ofPerson)],
    ['customer', () => admin.get('/admin/customers/cus_default/export')],
  ] as const
  for (const [name, send] of exports) {
    Object.assign(seen, { mostInTurn: 0, rows: 0 })
    const reply = await send()
    assert.equal(reply.status, 200, name)
    assert.ok(reply.text.split('ltr_').length > LETTERS, `${name} has all rows`)
    assert.ok(seen.rows > LETTERS, name)
    assert.ok(seen.mostInTurn <= TURN_ROWS_MAX, `${name}: ${seen.mostInTurn} rows in one turn`)
  }

  const actor = { kind: 'test', id: 'test' } as never
  const lines = await app.erasure.exportPerson!(person.id, actor)
  seen.rows = 0
  for await (const _ of lines) {
    assert.ok(seen.rows <= PAGE_ROWS_MAX, `${seen.rows} rows between two checks of the caller`)
    seen.rows = 0
  }
  const caller = new AbortController()
  const written: (string | Uint8Array)[] = []
  let isCut = false
  const out: Stream = {
    write(text) {
      written.push(text)
      setImmediate(() => caller.abort())
      return true
    },
    drained: async () => undefined,
    end: () => assert.fail('the response is incomplete'),
    cut: () => (isCut = true),
    closed: caller.signal,
  }
  seen.rows = 0
  await sendParts(await app.erasure.exportPerson!(person.id, actor), out)
  assert.ok(isCut)
  assert.equal(written.length, 1)
  assert.ok(seen.rows <= 3 * PAGE_ROWS_MAX, `${seen.rows} rows after the caller left`)
})
