import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { sql } from '../../src/storage/sql.ts'
import { openDesk, random } from './desk.ts'

const PATH = 'GET /api/protected'
const HOUR_S = 3600

eachMigrated('§13 a key is created, listed without its secret, and gone', async (db, t) => {
  const { ask, time } = await openDesk(db, t)
  const expires_at = '2027-01-31T00:00:00.000Z'
  const body = {
    name: 'billing',
    scopes: ['things:read', 'things:read'],
    mode: 'test',
    expires_at,
    cidrs: ['127.0.0.1'],
    api_version: 'v1',
  }
  const made = await ask('POST /admin/keys', { body })
  const { key, ...rest } = made.body
  assert.equal(made.status, 201)
  assert.match(key, /^gk_test_[0-9A-Za-z]{38}$/)
  assert.equal(made.headers.location, `/admin/keys/${rest.id}`)
  assert.equal(made.headers['cache-control'], 'no-store')
  assert.deepEqual(rest, {
    id: rest.id,
    name: 'billing',
    hint: `gk_test_…${key.slice(-4)}`,
    scopes: ['things:read'],
    customer: 'cus_default',
    mode: 'test',
    api_version: 'v1',
    cidrs: ['127.0.0.1'],
    expires_at,
    created_at: new Date(time.nowMs).toISOString(),
    last_used_at: null,
  })
  assert.deepEqual((await ask(`GET /admin/keys/${rest.id}`)).body, rest)
  const listed = await ask('GET /admin/keys?mode=test')
  assert.deepEqual(listed.body.data, [rest])
  assert.equal((await ask(`DELETE /admin/keys/${rest.id}`)).status, 204)
  assert.equal((await ask(`DELETE /admin/keys/${rest.id}`)).status, 404)
  assert.equal((await ask(`GET /admin/keys/${rest.id}`)).status, 404)
  assert.equal((await ask(`POST /admin/keys/${rest.id}/roll`)).status, 404)
  assert.deepEqual((await ask('GET /admin/keys?mode=test')).body.data, [])
})

eachMigrated('what a key cannot be, with pointers', async (db, t) => {
  const { ask, time } = await openDesk(db, t)
  const { body: other } = await ask('POST /admin/customers', { body: { name: 'other' } })
  const past = new Date(time.nowMs).toISOString()
  const table: [object, string[]][] = [
    [{}, ['/name', '/scopes']],
    [{ name: 'k', scopes: [], colour: 1 }, ['/colour']],
    [{ name: 'k', scopes: ['things:read', 'things:all'] }, ['/scopes/1']],
    [{ name: 'k', scopes: [7] }, ['/scopes/0']],
    [{ name: 'k', scopes: 'things:read' }, ['/scopes']],
    [{ name: 'k', scopes: [], cidrs: ['::1', '10.0.0.0/40'] }, ['/cidrs/1']],
    [{ name: 'k', scopes: [], expires_at: past }, ['/expires_at']],
    [{ name: 'k', scopes: [], expires_at: 1 }, ['/expires_at']],
    [{ name: 'k', scopes: [], api_version: 'v3' }, ['/api_version']],
    [{ name: 'k', scopes: [], mode: 'both' }, ['/mode']],
    [{ name: 'k', scopes: [], customer: 'cus_nobody' }, ['/customer']],
    [{ name: 'k', scopes: ['things:read', 'admin'], mode: 'test' }, ['/scopes/1']],
    [{ name: 'k', scopes: ['admin'], customer: other.id }, ['/scopes/0']],
  ]
  const { total } = (await db.get(sql`SELECT COUNT(*) AS total FROM gh_api_keys`))!
  for (const [body, pointers] of table) {
    const reply = await ask('POST /admin/keys', { body })
    assert.equal(reply.status, 422, JSON.stringify(body))
    const found = reply.body.errors.map((each: { pointer: string }) => each.pointer)
    assert.deepEqual(found, pointers)
  }
  const after = (await db.get(sql`SELECT COUNT(*) AS total FROM gh_api_keys`))!
  assert.equal(after.total, total, 'nothing was written')
  const admin = { name: 'k', scopes: ['admin'], customer: 'default' }
  assert.equal((await ask('POST /admin/keys', { body: admin })).status, 201)
})

eachMigrated('§1.1 keys of customers and modes never prove one another', async (db, t) => {
  const { ask, make, verifier } = await openDesk(db, t)
  const { body: a } = await ask('POST /admin/customers', { body: { name: 'a' } })
  const { body: b } = await ask('POST /admin/customers', { body: { name: 'b' } })
  const scopes = new Set<number>()
  for (const customer of [a.id, b.id, 'default']) {
    for (const mode of ['live', 'test']) {
      const { id, key } = await make({ customer, mode, scopes: ['things:read'] })
      const who = await verifier.verify(key, '127.0.0.1')
      const expected = customer === 'default' ? 'cus_default' : customer
      assert.deepEqual([who.customer, who.mode, who.subject], [expected, mode, id])
      scopes.add(who.scope)
      assert.equal((await ask('GET /admin/keys', { key })).status, 403, 'no way to others')
    }
  }
  assert.equal(scopes.size, 6)
  for (const customer of [a.id, 'default']) {
    const { body } = await ask(`GET /admin/keys?customer=${customer}&mode=test`)
    assert.equal(body.data.length, 1)
  }
})

eachMigrated('§3.2 a roll keeps the id, and the old secret for the overlap', async (db, t) => {
  const { ask, make, time } = await openDesk(db, t)
  const { id, key: first } = await make({})
  const works = async (key: string) => {
    const { status, body } = await ask(PATH, { key })
    if (status === 200) assert.equal(body.user, id)
    return status === 200
  }
  const roll = async (overlap?: number) => {
    const body = overlap === undefined ? {} : { body: { overlap_seconds: overlap } }
    const reply = await ask(`POST /admin/keys/${id}/roll`, body)
    assert.deepEqual([reply.status, reply.body.id], [200, id], JSON.stringify(reply.body))
    return reply.body.key as string
  }
  const second = await roll()
  assert.deepEqual([await works(first), await works(second)], [true, true])
  time.pass(23 * HOUR_S * 1000)
  const third = await roll(7 * 24 * HOUR_S)
  assert.deepEqual(
    [await works(first), await works(second), await works(third)],
    [true, true, true],
  )
  time.nowMs += HOUR_S * 1000 // the day of the first roll is over; nothing else passes
  assert.deepEqual([await works(first), await works(second)], [false, true])
  const fourth = await roll(0)
  const all = [await works(second), await works(third), await works(fourth)]
  assert.deepEqual(all, [false, false, true])
  assert.equal((await ask(`GET /admin/keys/${id}`)).body.hint, `gk_live_…${fourth.slice(-4)}`)
})

eachMigrated('rolls are bounded, and refused for a key that is over', async (db, t) => {
  const { ask, make, time } = await openDesk(db, t)
  const { id } = await make({ expires_at: new Date(time.nowMs + 1000).toISOString() })
  const roll = (overlap_seconds: unknown) =>
    ask(`POST /admin/keys/${id}/roll`, { body: { overlap_seconds } })
  for (const bad of [-1, 604_801, 1.5, '60', null]) assert.equal((await roll(bad)).status, 422)
  for (let n = 0; n < 4; n++) assert.equal((await roll(60)).status, 200)
  assert.equal((await roll(60)).body.error, 'limit_reached')
  assert.equal((await roll(0)).status, 200)
  time.pass(1000)
  assert.equal((await roll(0)).body.error, 'invalid_state')
})

eachMigrated('every act is audited, no secret anywhere at rest', async (db, t) => {
  const { ask, make, operator } = await openDesk(db, t)
  const { id, key } = await make({ scopes: ['things:read'] })
  const rolled = await ask(`POST /admin/keys/${id}/roll`)
  await ask(`DELETE /admin/keys/${id}`)
  const { body } = await ask(`GET /admin/audit?target=${id}&sort=at`)
  const actions = body.data.map((each: { action: string }) => each.action)
  assert.deepEqual(actions.toSorted(), ['key.create', 'key.revoke', 'key.roll'])
  const me = (await ask(PATH)).body.user
  for (const act of body.data) assert.deepEqual([act.actor_kind, act.actor_id], ['key', me])
  const secrets = [key, rolled.body.key, operator].map((each) => each.slice(8, 30))
  for (const table of ['gh_audit', 'gh_api_keys', 'gh_customers', 'gh_settings']) {
    const rows = JSON.stringify(await db.all({ sql: q(table), text: q(table), values: [] }))
    for (const secret of secrets) assert(!rows.includes(secret), table)
  }
})

const q = (table: string) => `SELECT * FROM ${table}`

eachMigrated('a failed act leaves no line in the audit trail', async (db, t) => {
  const { ask } = await openDesk(db, t)
  const total = async () => (await ask('GET /admin/audit?pagination=page')).body.total
  const before = await total()
  await ask('DELETE /admin/keys/key_nobody')
  await ask('PATCH /admin/customers/cus_nobody', { body: { name: 'x' } })
  await ask('POST /admin/keys', { body: { name: 'k', scopes: [], customer: 'cus_nobody' } })
  assert.equal(await total(), before)
  assert.equal((await ask(PATH, { key: generateApiKey(random, 'live') })).status, 403)
})
