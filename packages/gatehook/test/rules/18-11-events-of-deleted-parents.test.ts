/** §18.11: an erasure finds events of rows whose owner a row named that was deleted for good. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const list = { filter: ['id'], sort: ['id'] } as const

const people = resource('people', {
  fields: { id: f.id(), email: f.email().unique().personal() },
  ...{ list, access, events: [] },
}).signsIn({ username: 'email', scopes: ['r'] })
const albumsWith = (events: ('album.created' | 'album.deleted')[]) =>
  resource('albums', {
    fields: { id: f.id('alb'), person_id: f.ref('people').owner() },
    ...{ list, access, events },
  })
const pages = resource('pages', {
  fields: { id: f.id(), album_id: f.ref('albums', 'alb') },
  ...{ list, access, events: ['page.created'] },
}).ownedBy('album_id')
const photos = resource('photos', {
  fields: { id: f.id(), page_id: f.ref('pages'), caption: f.string().personal() },
  ...{ list, access, events: ['photo.created'] },
}).ownedBy('page_id')

for (const { name } of databases) {
  for (const event of ['album.created', 'album.deleted'] as const) {
    test(`events of rows without their parents are erased, by ${event} [${name}]`, async (t) => {
      const declared = service({
        name: 'Albums',
        versions: { v1: { released: '2026-06-01' } },
        resources: [people, albumsWith([event]), pages, photos],
      })
      const { app, post, as, key, send } = await openService(t, name, { service: declared })
      const create = async (path: string, row: object) => {
        const reply = await post(`/api/v1/${path}`, row)
        assert.equal(reply.status, 201, reply.text)
        return reply.body.id
      }
      const deleteRow = async (path: string) =>
        assert.equal((await send('DELETE', `/api/v1/${path}`)).status, 204)
      const [gone, other] = [
        await create('people', { email: 'gone@example.com' }),
        await create('people', { email: 'other@example.com' }),
      ]
      for (const [person, caption] of [
        [gone, 'kanary caption'],
        [other, 'caption of another'],
      ]) {
        const album = await create('albums', { person_id: person })
        const page = await create('pages', { album_id: album })
        const photo = await create('photos', { page_id: page, caption })
        for (const path of [`photos/${photo}`, `pages/${page}`, `albums/${album}`])
          await deleteRow(path)
      }
      const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
      const exported = await admin.get(`/admin/users/${gone}/export`)
      assert.doesNotMatch(exported.text, /caption of another/)
      assert.equal((await admin.delete(`/admin/users/${gone}`)).status, 202)
      await app.erasure.runDue()
      const rows = await app.db.all(sql`SELECT object FROM gh_events WHERE type = 'photo.created'`)
      const objects = rows.map(({ object }) => JSON.parse(String(object)).caption)
      assert.equal(objects.length, 2)
      assert.ok(objects.includes('caption of another'))
      assert.ok(!objects.includes('kanary caption'), JSON.stringify(objects))
    })
  }
}
