import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { openTestNode, random } from './test-node.ts'

const PATH = 'GET /api/protected'
const HOUR_S = 3600

eachMigrated('§13 a key is created, listed without its secret, and revoked', async (db, t) => {
  const { send, time } = await openTestNode(db, t)
  const expires_at = '2027-01-31T00:00:00.000Z'
  const body = {
    name: 'billing',
    scopes: ['things:read', 'things:read'],
    mode: 'test',
    expires_at,
    cidrs: ['127.0.0.1'],
    api_version: 'v1',
  }
  const created = await send('POST /admin/keys', { body })
  const { key, ...rest } = created.body
  assert.equal(created.status, 201)
  assert.match(key, /^gk_test_[0-9A-Za-z]{38}$/)
  assert.equal(created.headers.location, `/admin/keys/${rest.id}`)
  assert.equal(created.headers['cache-control'], 'no-store')
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
  const item = { ...rest, revoked_at: null, overlap_ends_at: null, refused_24h: null }
  assert.deepEqual((await send(`GET /admin/keys/${rest.id}`)).body, item)
  const listed = await send('GET /admin/keys?mode=test')
  assert.deepEqual(listed.body.data, [item])
  assert.equal((await send(`DELETE /admin/keys/${rest.id}`)).status, 204)
  assert.equal((await send(`DELETE /admin/keys/${rest.id}`)).status, 404)
  assert.equal((await send(`GET /admin/keys/${rest.id}`)).status, 404)
  assert.equal((await send(`POST /admin/keys/${rest.id}/roll`)).status, 404)
  assert.deepEqual((await send('GET /admin/keys?mode=test')).body.data, [])
})

eachMigrated('§13 invalid keys are 422 with pointers', async (db, t) => {
  const { send, time } = await openTestNode(db, t)
  const { body: other } = await send('POST /admin/customers', { body: { name: 'other' } })
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
    [{ name: 'k', scopes: [], customer: 'cus_unknown' }, ['/customer']],
    [{ name: 'k', scopes: ['things:read', 'admin'], mode: 'test' }, ['/scopes/1']],
    [{ name: 'k', scopes: ['admin'], customer: other.id }, ['/scopes/0']],
  ]
  const { total } = (await db.get(sql`SELECT COUNT(*) AS total FROM gh_api_keys`))!
  for (const [body, pointers] of table) {
    const reply = await send('POST /admin/keys', { body })
    assert.equal(reply.status, 422, JSON.stringify(body))
    const { errors } = reply.body
    assert.deepEqual(
      errors.map(({ pointer }: { pointer: string }) => pointer),
      pointers,
    )
  }
  const after = (await db.get(sql`SELECT COUNT(*) AS total FROM gh_api_keys`))!
  assert.equal(after.total, total, 'nothing was written')
  const admin = { name: 'k', scopes: ['admin'], customer: 'default' }
  assert.equal((await send('POST /admin/keys', { body: admin })).status, 201)
})

eachMigrated('§1.1 a key authenticates its own customer and mode only', async (db, t) => {
  const { send, createKey, verifier } = await openTestNode(db, t)
  const { body: a } = await send('POST /admin/customers', { body: { name: 'a' } })
  const { body: b } = await send('POST /admin/customers', { body: { name: 'b' } })
  const scopes = new Set<number>()
  for (const customer of [a.id, b.id, 'default']) {
    for (const mode of ['live', 'test']) {
      const { id, key } = await createKey({ customer, mode, scopes: ['things:read'] })
      const principal = await verifier.verify(key, {
        address: '127.0.0.1',
        identified: undefined,
      })
      const expected = customer === 'default' ? 'cus_default' : customer
      assert.deepEqual(
        [principal.customer, principal.mode, principal.subject],
        [expected, mode, id],
      )
      scopes.add(principal.scope)
      assert.equal((await send('GET /admin/keys', { key })).status, 403, 'no access to other keys')
    }
  }
  assert.equal(scopes.size, 6)
  for (const customer of [a.id, 'default']) {
    const { body } = await send(`GET /admin/keys?customer=${customer}&mode=test`)
    assert.equal(body.data.length, 1)
  }
})

eachMigrated(
  '§3.2 after a roll the id is the same, and the old secret is valid for the overlap',
  async (db, t) => {
    const { send, createKey, time } = await openTestNode(db, t)
    const { id, key: first } = await createKey({})
    const isValid = async (key: string) => {
      const { status, body } = await send(PATH, { key })
      if (status === 200) assert.equal(body.user, id)
      return status === 200
    }
    const roll = async (overlap?: number) => {
      const body = overlap === undefined ? {} : { body: { overlap_seconds: overlap } }
      const reply = await send(`POST /admin/keys/${id}/roll`, body)
      assert.deepEqual([reply.status, reply.body.id], [200, id], JSON.stringify(reply.body))
      return reply.body.key as string
    }
    const second = await roll()
    assert.deepEqual([await isValid(first), await isValid(second)], [true, true])
    time.pass(23 * HOUR_S * 1000)
    const third = await roll(7 * 24 * HOUR_S)
    assert.deepEqual(
      [await isValid(first), await isValid(second), await isValid(third)],
      [true, true, true],
    )
    time.nowMs += HOUR_S * 1000 // the overlap of the first roll ends
    assert.deepEqual([await isValid(first), await isValid(second)], [false, true])
    const fourth = await roll(0)
    const valid = [await isValid(second), await isValid(third), await isValid(fourth)]
    assert.deepEqual(valid, [false, false, true])
    assert.equal((await send(`GET /admin/keys/${id}`)).body.hint, `gk_live_…${fourth.slice(-4)}`)
  },
)

eachMigrated(
  'the secrets of a key are bounded, and an expired key cannot be rolled',
  async (db, t) => {
    const { send, createKey, time } = await openTestNode(db, t)
    const { id } = await createKey({ expires_at: new Date(time.nowMs + 1000).toISOString() })
    const roll = (overlap_seconds: unknown) =>
      send(`POST /admin/keys/${id}/roll`, { body: { overlap_seconds } })
    for (const bad of [-1, 604_801, 1.5, '60', null]) assert.equal((await roll(bad)).status, 422)
    for (let n = 0; n < 4; n++) assert.equal((await roll(60)).status, 200)
    assert.equal((await roll(60)).body.error, 'limit_reached')
    assert.equal((await roll(0)).status, 200)
    time.pass(1000)
    assert.equal((await roll(0)).body.error, 'invalid_state')
  },
)

eachMigrated('every operation is audited, and no table contains a secret', async (db, t) => {
  const { send, createKey, operator } = await openTestNode(db, t)
  const { id, key } = await createKey({ scopes: ['things:read'] })
  const rolled = await send(`POST /admin/keys/${id}/roll`)
  await send(`DELETE /admin/keys/${id}`)
  const { body } = await send(`GET /admin/audit?target=${id}&sort=at`)
  const actions = body.data.map(({ action }: { action: string }) => action)
  assert.deepEqual(actions.toSorted(), ['key.create', 'key.revoke', 'key.roll'])
  const operatorId = (await send(PATH)).body.user
  for (const { actor_kind, actor_id } of body.data) {
    assert.deepEqual([actor_kind, actor_id], ['key', operatorId])
  }
  const secrets = [key, rolled.body.key, operator].map((text) => text.slice(8, 30))
  for (const table of ['gh_audit', 'gh_api_keys', 'gh_customers', 'gh_settings']) {
    const text = `SELECT * FROM ${table}`
    const rows = JSON.stringify(await db.all({ sql: text, text, values: [] }))
    for (const secret of secrets) assert(!rows.includes(secret), table)
  }
})

eachMigrated('a failed operation has no audit row', async (db, t) => {
  const { send } = await openTestNode(db, t)
  const countRows = async () => (await send('GET /admin/audit?pagination=page')).body.total
  const before = await countRows()
  await send('DELETE /admin/keys/key_unknown')
  await send('PATCH /admin/customers/cus_unknown', { body: { name: 'x' } })
  await send('POST /admin/keys', { body: { name: 'k', scopes: [], customer: 'cus_unknown' } })
  assert.equal(await countRows(), before)
  assert.equal((await send(PATH, { key: generateApiKey(random, 'live') })).status, 403)
})
