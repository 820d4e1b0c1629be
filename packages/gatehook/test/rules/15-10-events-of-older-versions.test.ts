/** §15.10: no event of an older version has a value that follows from one which events lack. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const notes = resource('notes', {
  fields: {
    id: f.id(),
    title: f.string(),
    text: f.string().max(1_000_000).default(''),
    parts: f.array(f.object({ body: f.string().max(70_000) }), { max: 20 }).default([]),
  },
  list: { filter: [], sort: [] },
  access: { read: 'notes', create: 'notes', update: 'notes', delete: false },
  events: ['note.created'],
})
  .before('v3', {
    why: 'A text has no bound of 200 characters',
    had: { name: f.string(), body: f.string().max(200).default('') },
    hadNot: ['title', 'text'],
    up: (old) => ({ title: old.name, text: old.body }),
    down: (row) => ({ name: row.title, body: row.text.slice(0, 200) }),
  })
  .before('v2', {
    why: 'Bodies have a name of their own',
    had: { words: f.string().max(200).default('') },
    hadNot: ['body'],
    up: (old) => ({ body: old.words }),
    down: (row) => ({ words: row.body }),
  })

const api = service({
  name: 'Notes',
  versions: {
    v1: { released: '2026-01-01' },
    v2: { released: '2026-03-01' },
    v3: { released: '2026-06-01' },
  },
  resources: [notes],
})

eachService(
  'an old field that follows from a large text is in responses and in no event',
  async ({ as, get, key, post }) => {
    const note = { title: 'A', text: 'real', parts: [{ body: 'b' }] }
    const { body } = await post('/api/v3/notes', note)
    const { id } = body
    const eventId = (await get('/events')).body.data[0].id
    const old = {
      v1: { id, name: 'A' },
      v2: { id, name: 'A' },
      v3: { id, title: 'A' },
    }
    for (const [version, object] of Object.entries(old)) {
      const pinned = as(await key({ api_version: version }))
      const { data } = (await pinned.get(`/events/${eventId}`)).body
      assert.deepEqual(data.object, object, version)
    }
    assert.equal((await get(`/api/v2/notes/${id}`)).body.body, 'real')
    assert.equal((await get(`/api/v1/notes/${id}`)).body.words, 'real')
    for (const [version, field] of [
      ['v1', 'words'],
      ['v2', 'body'],
    ] as const) {
      const { components, webhooks } = (await get(`/openapi/${version}.json`)).body
      const { required, properties } = components.schemas.Note
      assert.deepEqual([required.includes(field), required.includes('name')], [false, true])
      assert.match(properties[field].description, /Events do not have it\.$/)
      const { example } = webhooks['note.created'].post.requestBody.content['application/json']
      assert.deepEqual(Object.keys(example.data.object), ['id', 'name'], version)
    }
  },
  { service: api },
)
