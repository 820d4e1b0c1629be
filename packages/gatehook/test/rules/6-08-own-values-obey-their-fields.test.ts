/** §6.8: own code cannot store a value that its field rejects: 500, no row, a clear log line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const notes = resource('notes', {
  fields: {
    id: f.id(),
    status: f.oneOf(['open', 'shut']).default('open').readonly(),
    text: f.string().max(5),
    link: f.url().nullable().default(null),
    at: f.time().nullable().default(null),
    size: f.int().min(0).default(0),
  },
  list: { filter: [], sort: ['id'] },
  access: { read: 'notes:read', create: 'notes:write', update: 'notes:write', delete: false },
  events: ['note.created', 'note.updated'],
}).action('retitle', {
  scope: 'notes:write',
  input: { text: f.string(), wait: f.bool().default(false) },
  run: ({ input }) => {
    const changes = { text: input.text, link: undefined as never }
    return input.wait ? (Promise.resolve(changes) as never) : changes
  },
})

const board = service({
  name: 'board',
  versions: { v1: { released: '2026-01-01' } },
  resources: [notes],
}).route({
  method: 'POST',
  path: '/writes',
  scope: 'notes:write',
  summary: 'Writes values as sent',
  input: { id: f.int().default(0), values: f.string() },
  output: notes,
  async handle({ input, write }) {
    const values = JSON.parse(input.values, (_name, value) => (value === 'NaN' ? NaN : value))
    const row = await write((tx) =>
      input.id > 0 ? tx.update(notes, input.id, values) : tx.create(notes, values),
    )
    return { body: row }
  },
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a value that its field rejects is a 500 and no row [${kind}]`, async (t) => {
    const lines: string[] = []
    const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
    const { post, get } = await openService(t, kind, { service: board, log })
    const write = (values: object, id = 0) =>
      post('/api/v1/writes', { id, values: JSON.stringify(values) })
    assert.equal((await write({ text: 'first', at: 5, link: 'https://a.example' })).status, 200)
    const rejects = async (sentence: string, request: Promise<{ status: number }>) => {
      assert.equal((await request).status, 500, sentence)
      const { err } = JSON.parse(lines.find((line) => line.includes('"bug"'))!)
      assert.equal(err.message, sentence)
      lines.length = 0
    }
    const create = 'tx.create(notes) violates the declaration:'
    const update = 'tx.update(notes) violates the declaration:'
    const act = 'action retitle of notes violates the declaration:'
    await rejects(`${create} text must have at most 5 characters`, write({ text: 'too long' }))
    await rejects(`${create} text is required`, write({ size: 1 }))
    await rejects(
      `${create} status must be one of open, shut`,
      write({ text: 'a', status: 'lost' }),
    )
    await rejects(`${create} title is not a field here`, write({ text: 'a', title: 'b' }))
    await rejects(`${create} id is set by the service`, write({ text: 'a', id: 7 }))
    await rejects(
      `${update} link must be an absolute http or https URL of the characters of a URI`,
      write({ link: 'x' }, 1),
    )
    await rejects(`${update} size must be at least 0`, write({ size: -1 }, 1))
    await rejects(`${update} id is set by the service`, write({ id: 2 }, 1))
    const retitle = (body: object) => post('/api/v1/notes/1/retitle', body)
    await rejects(`${act} text must have at most 5 characters`, retitle({ text: 'too long' }))
    const waiting = retitle({ text: 'ok', wait: true })
    await rejects(`${act} it returns a promise; it must be synchronous`, waiting)
    assert.equal((await retitle({ text: 'ok' })).body.link, 'https://a.example')
    const list = (await get('/api/v1/notes?pagination=page')).body
    assert.deepEqual([list.total, list.data[0].text, list.data[0].size], [1, 'ok', 0])
    const events = (await get('/events')).body.data
    assert.equal(events.length, 1)
  })
}
