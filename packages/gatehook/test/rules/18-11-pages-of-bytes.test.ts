/** §18.11: callers size the rows that exports, erasures and deletions read in pages of bytes. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { PAGE_BYTES } from '../../src/platform/storage/page-bytes.ts'
import { prepareStatement, sql } from '../../src/platform/storage/sql.ts'
import { letterbox } from '../fixtures/letters.ts'
import { bytesOfRows } from '../storage/read-bytes.ts'

/** Events of more than one page. */
const EVENTS = 12
const TEXT = 'x'.repeat(250_000)

/** Measures what each statement of a database returns. */
function watchReads(db: Database): { largest: number } {
  const seen = { largest: 0 }
  const { arrays, all } = db
  const see = (rows: Parameters<typeof bytesOfRows>[0]) => {
    seen.largest = Math.max(seen.largest, bytesOfRows(rows))
  }
  Object.assign(db, {
    arrays: async (...args: Parameters<typeof arrays>) => {
      const rows = await arrays.apply(db, args)
      see(rows)
      return rows
    },
    all: async (...args: Parameters<typeof all>) => {
      const rows = await all.apply(db, args)
      see(rows.map((row) => Object.values(row)))
      return rows
    },
  })
  return seen
}

/** Stores the events as bodies of an older version, too. */
async function copyBodies(db: Database): Promise<void> {
  const copies = prepareStatement(`INSERT INTO gh_event_bodies (scope, event_id, version, body)
    SELECT scope, id, 'v1', object FROM gh_events WHERE type = 'parcel.weighed'`)
  await db.write((tx) => tx.run(copies([])))
}

eachService(
  'no statement of an export, an erasure and a deletion reads more than a page',
  async ({ app, as, key }) => {
    const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
    const { body: customer } = await admin.post('/admin/customers', { name: 'Post' })
    const own = as(await key({ customer: customer.id, mode: 'live' }))
    const member = {
      given_name: 'Ada',
      email: 'ada@example.com',
      interests: [],
      profile: { city: 'X' },
    }
    const { body: person } = await own.post('/api/v2/members', member)
    assert.ok(person.id, JSON.stringify(person))
    for (let n = 0; n < EVENTS; n++) {
      const event = { type: 'parcel.weighed', object: { recipient: 'ada@example.com', TEXT } }
      const reply = await own.post('/events', event)
      assert.equal(reply.status, 201, reply.text)
    }
    await copyBodies(app.db)
    const seen = watchReads(app.db)
    const exported = await admin.get(`/admin/customers/${customer.id}/export`)
    assert.equal(exported.text.split('parcel.weighed').length - 1, EVENTS)
    assert.equal((await admin.get(`/admin/users/${person.id}/export`)).status, 200)
    assert.ok(seen.largest > TEXT.length, 'pages have rows')
    assert.equal((await admin.delete(`/admin/users/${person.id}`)).status, 202)
    await app.erasure.runDue()
    const [left] = await app.db.arrays(
      sql`SELECT count(*) FROM gh_events WHERE object LIKE ${'%ada@example.com%'}`,
    )
    assert.equal(Number(left![0]), 0)
    assert.equal((await admin.delete(`/admin/customers/${customer.id}`)).status, 202)
    await app.erasure.runDue()
    assert.equal((await admin.get(`/admin/customers/${customer.id}`)).status, 404)
    assert.ok(seen.largest <= PAGE_BYTES, String(seen.largest))
  },
  { service: letterbox },
)
