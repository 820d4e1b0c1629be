import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Call, type Endpoint, json, noContent } from './call.ts'
import { mountEndpoints, prefixLinks } from './mount.ts'

const things: Endpoint = {
  kind: 'root',
  path: '/things/:id',
  methods: {
    GET: { scope: 'things:read', callers: ['key'], handle: noContent },
    POST: {
      body: 'required',
      scope: 'things:write',
      handle: () => json(201, {}, { location: '/things/7' }),
    },
  },
}
const prefix = '/admin/as/:customer/:mode'
const path = '/admin/as/cus_1/live/things'
const callOf = (members: object) => members as Call

test('a mounted operation differs in path, kind and callers', () => {
  const [mounted] = mountEndpoints([things], {
    prefix,
    kind: 'admin',
    access: () => ({ callers: ['operator'], scope: 'admin' }),
  })
  assert.deepEqual([mounted?.kind, mounted?.path], ['admin', `${prefix}/things/:id`])
  const { GET, POST } = mounted!.methods
  assert.deepEqual([GET?.callers, GET?.scope], [['operator'], 'admin'])
  assert.equal(POST?.body, 'required')
})

test('without rules of the mount, an operation keeps its own', () => {
  const [mounted] = mountEndpoints([things], { prefix, kind: 'portal' })
  assert.deepEqual(mounted?.methods.GET?.callers, ['key'])
  assert.equal(mounted?.methods.POST?.scope, 'things:write')
})

test('a mount enters before the handler, and Location has the prefix of the request', async () => {
  const calls: string[] = []
  const [mounted] = mountEndpoints([things], {
    prefix,
    kind: 'admin',
    async enter(call) {
      calls.push(call.path)
      return undefined
    },
  })
  const answer = await mounted!.methods.POST!.handle(callOf({ path }))
  assert.deepEqual(calls, [path])
  assert.equal(answer.headers?.location, `/admin/as/cus_1/live/things/7`)
  const read = await mounted!.methods.GET!.handle(callOf({ path }))
  assert.equal(read.headers?.location, undefined)
})

test('links of items have the prefix; other members stay', async () => {
  const page = { data: [{ id: 1, url: '/things', _links: { self: '/things/1' } }, { id: 2 }] }
  const list = { ...things, methods: { GET: { handle: () => json(200, page) } } }
  const [mounted] = mountEndpoints([list], { prefix, kind: 'admin' })
  const { json: text } = await mounted!.methods.GET!.handle(callOf({ path }))
  assert.deepEqual(JSON.parse(text!).data, [
    { id: 1, url: '/things', _links: { self: '/admin/as/cus_1/live/things/1' } },
    { id: 2 },
  ])
})

test('a response of `enter` ends the request', async () => {
  const retired = { ...things, methods: { GET: { handle: () => assert.fail('the handler ran') } } }
  const [mounted] = mountEndpoints([retired], { prefix, kind: 'admin', enter: noContent })
  assert.equal((await mounted!.methods.GET!.handle(callOf({ path }))).status, 204)
})

test('a handler does not run if the mount rejects the request', async () => {
  const [mounted] = mountEndpoints(
    [{ ...things, methods: { GET: { handle: () => assert.fail('the handler ran') } } }],
    { prefix, kind: 'admin', enter: () => Promise.reject(new Error('rejected')) },
  )
  await assert.rejects(Promise.resolve(mounted!.methods.GET!.handle(callOf({ path }))), /rejected/)
})

test('links of other forms stay, as an application can send them', async () => {
  const links = { self: { href: '/x' }, next: 'https://example.com/', own: '/x', none: null }
  const page = { data: [{ _links: links }], _links: links }
  const read = JSON.parse(await prefixLinks(JSON.stringify(page), '/p'))
  const expected = { ...links, own: '/p/x' }
  assert.deepEqual(read, { data: [{ _links: expected }], _links: expected })
})

test('the rows of a page stay as they are, and are not parsed', async (t) => {
  const row = (prefix: string) => `{"n":1.0,"v":{"data":[{}]},"_links":{"self":"${prefix}/x/1"}}`
  const page = (prefix: string) => `{"data":[${row(prefix)},7],"_links":{"next":"${prefix}/x"}}`
  const { parse } = JSON
  const parsed: string[] = []
  t.mock.method(JSON, 'parse', (text: string) => {
    parsed.push(text)
    return parse(text)
  })
  assert.equal(await prefixLinks(page(''), '/p'), page('/p'))
  assert.deepEqual(parsed, ['{"self":"/x/1"}', '{"next":"/x"}'])
})

test('other requests run between the rows of a large page', async () => {
  const row = (n: number) => ({ n, text: 'x'.repeat(70_000), _links: { self: `/x/${n}` } })
  const page = { data: Array.from({ length: 20 }, (_, n) => row(n)) }
  let turns = 0
  let isDone = false
  const takeTurn = () => {
    turns += 1
    if (!isDone) setImmediate(takeTurn)
  }
  setImmediate(takeTurn)
  const read = JSON.parse(await prefixLinks(JSON.stringify(page), '/p'))
  isDone = true
  assert.ok(turns >= 19, `${turns} turns`)
  assert.equal(read.data[19]._links.self, '/p/x/19')
})
