/** §13: revoked keys have a list, and are found by id, name and the end of a secret. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'

interface Named {
  readonly id: string
  readonly label: string
}

async function openKeys({ as, key }: TestApp) {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const create = async (name: string) =>
    (await admin.post('/admin/keys', { name, scopes: ['orders:read'] })).body
  const ids = async (query: string): Promise<string[]> => {
    const { status, body } = await admin.get(`/admin/keys?name[ne]=x${query}`)
    assert.equal(status, 200, JSON.stringify(body))
    return body.data.map(({ id }: Named) => id)
  }
  const labelsOf = async (text: string): Promise<string[]> =>
    (await admin.get(`/admin/search?q=${text}`)).body.data.map(({ label }: Named) => label)
  return { admin, create, ids, labelsOf }
}

eachService('a revoked key leaves the list of keys for that of revoked ones', async (service) => {
  const { admin, create, ids } = await openKeys(service)
  const [first, second, active] = [await create('Till'), await create('Till'), await create('Till')]
  for (const { id } of [second, first]) {
    assert.equal((await admin.delete(`/admin/keys/${id}`)).status, 204)
  }
  const listed = await ids('')
  assert.ok(listed.includes(active.id) && !listed.includes(first.id))
  assert.deepEqual(await ids('&revoked=true'), [first.id, second.id])
  assert.deepEqual(await ids('&revoked=true&sort=-revoked_at,-id').then((all) => all.toSorted()), [
    first.id,
    second.id,
  ])
  assert.deepEqual(await ids('&revoked=true&mode=live&customer=default&scope=orders:read'), [
    first.id,
    second.id,
  ])
  assert.deepEqual(await ids('&revoked=true&scope=orders:write'), [])
  assert.deepEqual(await ids('&revoked=false'), listed)
  assert.deepEqual((await ids('&revoked=any')).toSorted(), [...listed, first.id, second.id].sort())
  assert.equal((await admin.get('/admin/keys?revoked=maybe')).status, 400)
  const page = (await admin.get('/admin/keys?revoked=true&limit=1')).body
  const other = await admin.get(`/admin/keys?limit=1&cursor=${page.next_cursor}`)
  assert.equal(other.body.error, 'cursor_mismatch')
})

eachService('a revoked key is read in the list alone, and nothing changes it', async (service) => {
  const { admin, create } = await openKeys(service)
  const { id } = await create('Till')
  const path = `/admin/keys/${id}`
  const read = async () => (await admin.get(`/admin/keys?id=${id}&revoked=any`)).body.data
  const [active] = await read()
  assert.deepEqual(active, (await admin.get(path)).body)
  assert.equal(active.revoked_at, null)
  await admin.delete(path)
  const [revoked] = await read()
  assert.ok(Date.parse(revoked.revoked_at) > 0)
  assert.deepEqual({ ...revoked, revoked_at: null }, active)
  const requests = [
    admin.get(path),
    admin.delete(path),
    admin.patch(path, { name: 'Again' }),
    admin.post(`${path}/roll`, {}),
  ]
  for (const reply of await Promise.all(requests)) assert.equal(reply.status, 404)
  assert.deepEqual(await read(), [revoked])
})

eachService('credentials are found by the end of each of their secrets', async (service) => {
  const { admin, create, labelsOf } = await openKeys(service)
  const { id, key } = await create('Till')
  const rolled = (await admin.post(`/admin/keys/${id}/roll`, {})).body.key
  const client = (await admin.post('/admin/clients', { name: 'Shop', scopes: ['orders:read'] }))
    .body
  const endOf = (secret: string) => secret.slice(-4)
  for (const secret of [key, rolled]) assert.ok((await labelsOf(endOf(secret))).includes('Till'))
  assert.ok((await labelsOf(endOf(client.client_secret))).includes('Shop'))
  await admin.delete(`/admin/keys/${id}`)
  for (const text of [id, 'till', endOf(key), endOf(rolled)]) {
    assert.ok((await labelsOf(text)).includes('Till (revoked)'), text)
  }
})
