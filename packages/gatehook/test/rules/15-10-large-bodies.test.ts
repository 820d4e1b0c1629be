/**
 * §15.10: a declaration allows bodies up to 16 MiB and texts up to 1 MiB. No event
 * has a large text, and large bodies take no share of others.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { event, f, resource, service } from '../../src/gatehook.ts'
import { Budget } from '../../src/kernel/budget.ts'
import { LARGE_BODY_SHARES } from '../../src/protocol/http/ingress.ts'

const MIB = 1_048_576
const scope = 'notes:write'

const notes = resource('notes', {
  fields: {
    id: f.id(),
    title: f.string().default(''),
    text: f.string().max(MIB).default('').describe('The text.'),
    parts: f.array(f.object({ body: f.string().max(70_000) }), { max: 20 }).default([]),
  },
  list: { filter: ['title'], sort: ['title'] },
  access: { read: 'public', create: scope, update: scope, delete: false },
  events: ['note.created', 'note.updated'],
  batch: true,
  maxBodyBytes: 16 * MIB,
})
  .action('append', { scope, input: { text: f.string().max(MIB) } })
  .before('v2', {
    why: 'A name',
    had: { name: f.string().max(MIB).default('') },
    hadNot: ['title'],
    up: (old) => ({ title: old.name.slice(0, 255) }),
    down: (row) => ({ name: row.title }),
  })
const noted = event('note.noted', notes)

const api = service({
  name: 'Notes',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  resources: [notes],
  events: [noted],
})
  .route({
    method: 'POST',
    path: '/uploads',
    scope,
    summary: 'Receives bytes',
    maxBodyBytes: 3 * MIB,
    input: { media: 'application/octet-stream' },
    output: { size: f.int() },
    handle: ({ input }) => ({ body: { size: input.length } }),
  })
  .route({
    method: 'POST',
    path: '/small',
    scope,
    summary: 'Receives little',
    maxBodyBytes: 10,
    input: { a: f.string() },
    output: { a: f.string() },
    handle: ({ input }) => ({ body: { a: input.a } }),
  })
  .route({
    method: 'POST',
    path: '/emissions/:id',
    scope,
    summary: 'Emits an event',
    status: 204,
    async handle({ params, write }) {
      await write((tx) => tx.emit(noted, Number(params.id)))
    },
  })

eachService(
  'bodies have the bound of their route or resource, and 413 beyond it',
  async ({ app, key, post }) => {
    const { url } = await app.listen()
    const headers = { 'x-api-key': await key(), 'content-type': 'application/octet-stream' }
    const upload = async (size: number, isChunked = false) => {
      const bytes = new Uint8Array(size)
      const body = isChunked ? new Blob([bytes]).stream() : bytes
      const init = { method: 'POST', headers, body, ...(isChunked && { duplex: 'half' }) }
      const reply = await fetch(`${url}/api/v2/uploads`, init as RequestInit)
      return [reply.status, ((await reply.json()) as { size: number }).size]
    }
    for (const isChunked of [false, true]) {
      assert.deepEqual(await upload(3 * MIB, isChunked), [200, 3 * MIB])
      assert.equal((await upload(3 * MIB + 1, isChunked))[0], 413)
    }
    assert.equal((await post('/api/v2/small', { a: 'b' })).status, 200)
    const small = await post('/api/v2/small', { a: 'bcd' })
    assert.deepEqual([small.status, small.body.error], [413, 'payload_too_large'])

    const large = { text: 'x'.repeat(MIB) }
    assert.equal((await post('/api/v2/notes', large)).status, 201)
    assert.equal((await post('/api/v2/notes', { text: `${large.text}x` })).status, 422)
    const batch = await post('/api/v2/notes/batch', { items: [large, large, large] })
    assert.equal(batch.status, 200)
    const wide = { parts: Array.from({ length: 8 }, () => ({ body: 'x'.repeat(70_000) })) }
    assert.equal((await post('/api/v2/notes', wide)).status, 201)
    const tooWide = { text: ' '.repeat(16 * MIB) }
    assert.equal((await post('/api/v2/notes', tooWide)).status, 413)
  },
  { service: api },
)

test('a caller without a credential is rejected before its body is read', async (t) => {
  const { app } = await openService(t, 'sqlite', { service: api })
  const { port } = await app.listen()
  const socket = net.connect(port, '127.0.0.1')
  onEnd(t, () => socket.destroy())
  const head = ['POST /api/v2/uploads HTTP/1.1', 'Host: localhost', `Content-Length: ${3 * MIB}`]
  socket.write([...head, 'Content-Type: application/octet-stream', '\r\n'].join('\r\n'))
  const [answer] = await once(socket, 'data')
  assert.match(answer.toString(), /^HTTP\/1\.1 401 /)
})

eachService(
  'a text that can exceed 64 KiB is in responses and in no event, in every version',
  async ({ get, post, send, as, key }) => {
    const created = await post('/api/v2/notes', {
      title: 'A',
      text: 'long',
      parts: [{ body: 'b' }],
    })
    const { id } = created.body
    const row = { id, title: 'A', text: 'long', parts: [{ body: 'b' }] }
    const old = { id, name: 'A', text: 'long', parts: [{ body: 'b' }] }
    const { _links, ...body } = created.body
    assert.deepEqual(body, row)
    const live = await as(await key({ mode: 'live' })).post('/api/v2/notes', { text: 'public' })
    const anonymous = await as(undefined).get(`/api/v2/notes/${live.body.id}`)
    assert.equal(anonymous.body.text, 'public')
    assert.equal((await get('/api/v2/notes')).body.data[0].text, 'long')
    assert.equal((await get('/api/v1/notes')).body.data[0].text, old.text)
    assert.equal((await send('PATCH', `/api/v1/notes/${id}`, { text: 'longer' })).status, 200)
    assert.equal((await get(`/api/v2/notes/${id}`)).body.text, 'longer')
    assert.equal((await post(`/api/v2/emissions/${id}`)).status, 204)
    const { data } = (await get('/events')).body
    assert.deepEqual(data.map(({ type }: { type: string }) => type).sort(), [
      ...['note.created', 'note.noted', 'note.updated'],
    ])
    for (const { data: of } of data) assert.deepEqual(of.object, { id, title: 'A' })
    const { schemas } = (await get('/openapi/v2.json')).body.components
    assert.ok(!schemas.Note.required.includes('text'))
    assert.match(schemas.Note.properties.text.description, /Events do not have it\.$/)
    assert.equal(schemas.NoteCreate.properties.text.maxLength, MIB)
  },
  { service: api },
)

test('an event of own code declares no text beyond 64 KiB', async () => {
  const { fields } = await import('../../src/gatehook.ts')
  const declare = () => event('report.ready', fields({ text: f.string().max(65_537) }))
  assert.throws(declare, /text: texts of events have at most 65536 characters/)
  event('report.ready', fields({ text: f.string().max(65_536) }))
})

test('four large bodies of bytes fit in a process, and one of JSON', () => {
  const time = { elapsedMs: () => 0 }
  const hold = (budget: Budget, name: string, bytes: number) => {
    const holding = budget.hold({ group: name, caller: name }, () => {}, bytes)
    const isFull = holding.grow(bytes) !== undefined
    holding.keep()
    return !isFull
  }
  const count = (bytes: number) => {
    const budget = new Budget(LARGE_BODY_SHARES, time)
    return Array.from({ length: 9 }, (_, n) => hold(budget, `${n}`, bytes)).filter(Boolean).length
  }
  assert.deepEqual([count(16 * MIB), count(3 * 16 * MIB)], [4, 1])
})
