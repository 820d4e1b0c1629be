/** §7.11: rows of a join are a many-to-many relation: `expand` reads both of its ends. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const named = { id: f.id(), name: f.string().max(40) }
const list = { filter: [], sort: ['id'] } as const

const posts = resource('posts', { fields: named, list, access, events: ['post.deleted'] })
const tags = resource('tags', { fields: named, list, access, events: ['tag.deleted'] })
const postTags = resource('post_tags', {
  fields: {
    id: f.id(),
    post_id: f.ref('posts').onDelete('cascade').writeOnce(),
    tag_id: f.ref('tags').onDelete('cascade').writeOnce(),
  },
  unique: [['post_id', 'tag_id']],
  list: { filter: ['post_id', 'tag_id'], sort: ['id'] },
  access,
  events: ['post_tag.created', 'post_tag.deleted'],
  batch: true,
})
const blog = service({
  name: 'Blog',
  versions: { v1: { released: '2026-01-01' } },
  resources: [posts, tags, postTags],
})

const create = async (app: TestApp, collection: string, name: string): Promise<number> =>
  (await app.post(`/api/v1/${collection}`, { name })).body.id

const namesOf = async (app: TestApp, query: string, member: 'post' | 'tag') => {
  const { body, text } = await app.get(`/api/v1/post_tags?${query}&expand=${member}`)
  assert.ok(Array.isArray(body.data), text)
  return body.data.map((row: Record<string, { name: string }>) => row[member]!.name)
}

eachService(
  'a join lists the rows of either end, has each pair once, and follows deletions',
  async (app) => {
    const [first, second] = [await create(app, 'posts', 'one'), await create(app, 'posts', 'two')]
    const [red, blue] = [await create(app, 'tags', 'red'), await create(app, 'tags', 'blue')]
    const pairs = [
      { post_id: first, tag_id: red },
      { post_id: first, tag_id: blue },
      { post_id: second, tag_id: red },
    ]
    const batch = await app.post('/api/v1/post_tags/batch', { items: pairs, atomic: true })
    assert.ok(batch.status < 300, batch.text)
    assert.deepEqual(await namesOf(app, `post_id=${first}`, 'tag'), ['red', 'blue'])
    assert.deepEqual(await namesOf(app, `tag_id=${red}`, 'post'), ['one', 'two'])
    const again = await app.post('/api/v1/post_tags', pairs[0])
    assert.deepEqual([again.status, again.body.error], [409, 'conflict'])
    assert.deepEqual(
      again.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      ['/post_id', '/tag_id'],
    )
    assert.equal((await app.delete(`/api/v1/tags/${red}`)).status, 204)
    assert.deepEqual(await namesOf(app, `post_id=${first}`, 'tag'), ['blue'])
    assert.deepEqual((await app.get('/api/v1/posts?pagination=page')).body.total, 2)
    const deletions = await app.get('/events?pagination=page&type=post_tag.deleted')
    assert.equal(deletions.body.total, 2)
  },
  { service: blog },
)
