/**
 * §6.8: rows are no captives: exports restore into plain PostgreSQL by the SQL of the guide
 * "leaving", and equal the rows of the API.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const guide = await readFile(new URL('../../../../docs/guides/leaving.md', import.meta.url), 'utf8')
const block = (language: string) =>
  guide.match(new RegExp(`\n\`\`\`${language}\n([^]*?)\n\`\`\``))![1]!

const access = { read: 'i:read', create: 'i:write', update: false, delete: false } as const
const common = { export: true, access, events: [] } as const

/** The resources of the guide; the test compares their names. */
const clients = resource('clients', {
  fields: { id: f.id('cl'), name: f.string().max(60), since: f.date() },
  list: { filter: [], sort: ['name'] },
  ...common,
})
const invoices = resource('invoices', {
  fields: {
    id: f.id('inv'),
    client_id: f.ref('clients', 'cl'),
    total: f.decimal(12, 2),
    tags: f.array(f.string().max(20), { max: 5 }),
    paid_at: f.time().nullable().default(null),
    created_at: f.createdAt(),
  },
  list: { filter: ['client_id'], sort: ['created_at'] },
  ...common,
})
const invoicing = service({
  name: 'Invoicing',
  versions: { v1: { released: '2026-11-01' } },
  resources: [clients, invoices],
})

const accept = { accept: 'application/x-ndjson' }

eachService(
  'exported rows restore into plain PostgreSQL by the SQL of the guide',
  async ({ get, post }, t) => {
    for (const name of ['Ann "the first"', 'Böb\\n, \\u0041']) {
      const client = await post('/api/v1/clients', { name, since: '2026-02-28' })
      const client_id = client.body.id
      const tags = ['a,b', '{}', '"']
      const paid_at = '2026-03-01T10:00:00.125Z'
      await post('/api/v1/invoices', { client_id, total: '1234567890.05', tags, paid_at })
      await post('/api/v1/invoices', { client_id, total: '-0.10', tags: [] })
    }
    const database = new pg.Client(await freshUrl(t, 'postgres'))
    await database.connect()
    try {
      for (const name of ['clients', 'invoices']) {
        const lines = (await get(`/api/v1/${name}`, accept)).text.trim().split('\n')
        await database.query(`CREATE TABLE exported_${name} (line jsonb)`)
        const insert = `INSERT INTO exported_${name} SELECT unnest($1::text[])::jsonb`
        await database.query(insert, [lines])
      }
      await database.query(block('sql'))
      const { rows: restored } = await database.query('SELECT * FROM invoices ORDER BY id')
      const { data } = (await get('/api/v1/invoices?limit=100')).body
      const expected = data
        .map(({ _links: _, ...row }: Record<string, unknown>) => row)
        .sort((a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1))
      assert.deepEqual(JSON.parse(JSON.stringify(restored)), expected)
      const { rows: names } = await database.query('SELECT name FROM clients ORDER BY name')
      const { data: sent } = (await get('/api/v1/clients?sort=name')).body
      const namesOf = (rows: { name: string }[]) => rows.map(({ name }) => name).sort()
      assert.deepEqual(namesOf(names), namesOf(sent))
      const { paths } = (await get('/openapi/v1.json')).body
      assert.ok(paths['/api/v1/invoices'] && paths['/api/v1/clients'])
    } finally {
      await database.end()
    }
    for (const { fields } of invoicing.definition.resources) {
      for (const name of Object.keys(fields))
        assert.match(block('ts'), new RegExp(`\\b${name}: f\\.`))
    }
  },
  { service: invoicing },
)
