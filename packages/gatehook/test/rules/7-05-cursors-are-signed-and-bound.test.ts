/** §7.5: cursors are opaque, signed and bound to a list; only the canonical form is valid. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { everyList, fillUsers, idsOf, ok, refused, run } from '../lists/rows.ts'

const users = '/api/v2/users'

async function cursorOf({ get }: Pick<TestApp, 'get'>, query: string): Promise<string> {
  const page = await ok(get(query))
  assert.equal(typeof page.body.next_cursor, 'string')
  return page.body.next_cursor
}

const at = (cursor: string) => `cursor=${encodeURIComponent(cursor)}`

eachService('a cursor is valid for its own list only', async (service) => {
  const { app, get } = service
  await fillUsers(app.db, 9, '5')
  const list = `${users}?limit=2&sort=-created_at&name[ne]=x&id[gt]=1`
  const cursor = await cursorOf(service, list)
  assert.deepEqual(idsOf(await ok(get(`${list}&${at(cursor)}`))), [7, 6])
  const others = [
    `${users}?${at(cursor)}`,
    `${users}?sort=created_at&name[ne]=x&id[gt]=1&${at(cursor)}`,
    `${users}?sort=-created_at,id&name[ne]=x&id[gt]=1&${at(cursor)}`,
    `${users}?sort=-id&name[ne]=x&id[gt]=1&${at(cursor)}`,
    `${users}?sort=-created_at&name[ne]=x&${at(cursor)}`,
    `${users}?sort=-created_at&name[ne]=x&id[gt]=2&${at(cursor)}`,
    `${users}?sort=-created_at&name[ne]=x&id[gte]=1&${at(cursor)}`,
    `${users}?sort=-created_at&name[ne]=x&id[gt]=1&email[ne]=a@b.c&${at(cursor)}`,
    `/api/v2/orders?${at(cursor)}`,
    `/api/v2/orders?sort=-created_at&id[gt]=1&${at(cursor)}`,
    `/events?${at(cursor)}`,
  ]
  for (const path of others) await refused(get(path), 'cursor_mismatch', 'cursor')
})

eachService('limit, fields, version and the order of filters can change', async (service) => {
  const { app, get } = service
  await fillUsers(app.db, 9)
  const filters = 'name[in]=n1,n2,n3,n4,n5&id[gt]=1'
  const cursor = await cursorOf(service, `/api/v1/users?limit=2&${filters}`)
  const again = [
    `/api/v1/users?limit=1&${filters}`,
    `/api/v1/users?limit=100&${filters}`,
    `${users}?limit=1&${filters}`,
    `${users}?limit=1&fields=id&${filters}`,
    `${users}?id[gt]=1&name[in]=n1,n2,n3,n4,n5`,
    `${users}?id[gt]=1&name[in]=n5,n4,n3,n2,n1,n1`,
    `${users}?pagination=cursor&${filters}&sort=id`,
  ]
  for (const path of again) assert.equal(idsOf(await ok(get(`${path}&${at(cursor)}`)))[0], 4, path)
})

eachService('a cursor of another customer or mode gives cursor_mismatch', async (service) => {
  const { app, get } = service
  await fillUsers(app.db, 4)
  const other = (
    await service
      .as(await service.key({ scopes: ['admin'], mode: 'live' }))
      .post('/admin/customers', { name: 'Other' })
  ).body.id
  const cursor = await cursorOf(service, `${users}?limit=1`)
  for (const key of [{ customer: other }, { mode: 'live' as const }]) {
    const stranger = service.as(await service.key(key))
    await refused(stranger.get(`${users}?${at(cursor)}`), 'cursor_mismatch', 'cursor')
    assert.deepEqual((await ok(stranger.get(users))).body.data, [])
  }
  // A second key of the same customer and mode can use the cursor.
  const twin = service.as(await service.key())
  assert.deepEqual(idsOf(await ok(twin.get(`${users}?limit=1&${at(cursor)}`))), [2])
  assert.equal((await ok(get(users))).body.data.length, 4)
})

eachService('a cursor with one flipped bit is rejected', async (service) => {
  await fillUsers(service.app.db, 3)
  const cursor = await cursorOf(service, `${users}?limit=1`)
  const bytes = Buffer.from(cursor, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    const path = `${users}?${at(flipped.toString('base64url'))}`
    await refused(service.get(path), 'invalid_cursor', 'cursor')
  }
  for (const cut of [1, 4, 16, 17, bytes.length - 1]) {
    const path = `${users}?${at(bytes.subarray(0, cut).toString('base64url'))}`
    await refused(service.get(path), 'invalid_cursor', 'cursor')
  }
})

eachService('only the canonical form of a cursor is accepted', async (service) => {
  const { app, get } = service
  await fillUsers(app.db, 40)
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  let standard = 0
  let trailing = 0
  for (let limit = 1; limit < 40; limit++) {
    const cursor = await cursorOf(service, `${users}?limit=${limit}`)
    const forms = [`${cursor}=`, `${cursor}==`, ` ${cursor}`, `${cursor} `, `${cursor}\n`]
    forms.push(`${cursor.slice(0, 9)}.${cursor.slice(9)}`, `${cursor}A`, `${cursor}${cursor}`)
    const plain = cursor.replaceAll('-', '+').replaceAll('_', '/')
    if (plain !== cursor) standard += forms.push(plain)
    if (cursor.length % 4 !== 0) {
      // The last digit has unused bits; with them set, the text decodes to the same bytes.
      const last = digits[digits.indexOf(cursor.at(-1)!) + 1]!
      const same = cursor.slice(0, -1) + last
      const decoded = [cursor, same].map((text) => Buffer.from(text, 'base64url').toString('hex'))
      assert.equal(decoded[0], decoded[1])
      trailing += forms.push(same)
    }
    for (const form of forms) await refused(get(`${users}?${at(form)}`), 'invalid_cursor', 'cursor')
  }
  assert.ok(standard > 0 && trailing > 0, 'both forms were tried')
})

eachService('random bytes are rejected as a cursor on every list path', async (service) => {
  const text = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
    fc.string({ unit: 'binary', maxLength: 60 }).filter((text) => !text.includes('\0')),
    fc.constantFrom('', 'A', 'null', 'undefined', '{}', 'after', `${'A'.repeat(6001)}`),
  )
  for (const { path, caller } of await everyList(service)) {
    for (const cursor of fc.sample(text, { numRuns: 40, seed: 75 })) {
      if (!cursor.isWellFormed()) continue
      await refused(caller.get(`${path}?${at(cursor)}`), 'invalid_cursor', 'cursor')
    }
  }
})

eachService('a sort whose keys are too long for a URL is rejected', async (service) => {
  const { app, get } = service
  await fillUsers(app.db, 3)
  // A control character takes six bytes in JSON, the most of all characters.
  await run(app.db, 'UPDATE users SET name = ?', ['\u{1}'.repeat(600)])
  const { next } = (await ok(get(`${users}?limit=1&sort=name`))).body.cursors
  assert.deepEqual(idsOf(await ok(get(`${users}?limit=1&sort=name&${at(next)}`))), [2])
  await run(app.db, 'UPDATE users SET email = ? || id', ['\u{1}'.repeat(200)])
  await refused(get(`${users}?limit=1&sort=name,email`), 'invalid_parameter', 'sort')
  assert.deepEqual(idsOf(await ok(get(`${users}?per_page=1&sort=name,email`))), [1])
})
