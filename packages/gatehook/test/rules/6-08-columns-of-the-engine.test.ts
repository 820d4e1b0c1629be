/** §6.8: neither own code nor a client sets a column of the engine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const beds = resource('beds', {
  fields: {
    id: f.id(),
    size: f.int().default(1),
    twice: f.derived(f.int(), 'size * 2'),
    next: f.computed(f.int()),
    stored: f.computed(f.int()).stored(),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: { filter: [], sort: [] },
  access: { read: 'b:read', create: 'b:write', update: 'b:write', delete: 'b:write' },
  events: [],
  softDelete: true,
  batch: true,
})
  .compute('next', ({ size }) => size + 1)
  .compute('stored', ({ size }) => size + 2)
  .action('set', {
    scope: 'b:write',
    input: { values: f.string() },
    run: ({ row, input }) => ({ ...row, size: row.size + 1, ...JSON.parse(input.values) }),
  })
const hospital = service({
  name: 'hospital',
  versions: { v1: { released: '2026-01-01' } },
  resources: [beds],
}).route({
  method: 'POST',
  path: '/writes',
  scope: 'b:write',
  summary: 'Writes values as sent',
  input: { id: f.int().default(0), values: f.string() },
  output: beds,
  async handle({ input: { id, values: text }, write }) {
    const values = JSON.parse(text)
    const body = await write(async (tx) =>
      id === 0
        ? tx.create(beds, values)
        : tx.update(beds, id, { ...(await tx.get(beds, id)), ...values }),
    )
    return { body }
  },
})

const COLUMNS = ['id', 'twice', 'next', 'stored', 'created_at', 'updated_at', 'deleted_at']
/** Those of which an older value can be that of a row which own code has read. */
const CHANGING = ['twice', 'next', 'stored', 'updated_at']

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a value of a column of the engine is refused, a whole row is not [${kind}]`, async (t) => {
    const lines: string[] = []
    const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
    const { post, patch, get } = await openService(t, kind, { service: hospital, log })
    const bed = (await post('/api/v1/beds', {})).body
    const write = (values: object, id: number) =>
      post('/api/v1/writes', { id, values: JSON.stringify(values) })
    const act = (values: object) =>
      post(`/api/v1/beds/${bed.id}/set`, { values: JSON.stringify(values) })
    const refuses = async (
      source: string,
      column: string,
      request: Promise<{ status: number }>,
    ) => {
      assert.equal((await request).status, 500, `${source} ${column}`)
      const { err } = JSON.parse(lines.find((line) => line.includes('"bug"'))!)
      assert.equal(
        err.message,
        `${source} violates the declaration: ${column} is set by the service`,
      )
      lines.length = 0
    }
    for (const column of COLUMNS) {
      const values = { [column]: 5 }
      await refuses('tx.create(beds)', column, write(values, 0))
      if (!CHANGING.includes(column)) {
        await refuses('tx.update(beds)', column, write(values, bed.id))
        await refuses('action set of beds', column, act(values))
      }
      for (const reply of [
        await post('/api/v1/beds', values),
        await patch(`/api/v1/beds/${bed.id}`, values),
        await post('/api/v1/beds/batch', { items: [values] }),
      ]) {
        assert.deepEqual([reply.status, reply.body.errors[0].code], [422, 'read_only'], column)
      }
    }
    const older = Object.fromEntries(CHANGING.map((column) => [column, 5]))
    const updated = (await write({ ...older, size: 7 }, bed.id)).body
    const expected = { size: 7, twice: 14, next: 8, stored: 9, updated_at: updated.updated_at }
    assert.deepEqual(updated, { ...bed, ...expected })
    assert.equal((await act(older)).body.twice, 16)
    assert.equal((await get('/api/v1/beds?pagination=page')).body.total, 1)
  })
}
