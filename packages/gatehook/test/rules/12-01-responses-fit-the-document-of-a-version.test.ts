/**
 * §12.1: the document of a version describes the responses that parameters and headers change:
 * related and deleted rows, searches, batches, dry runs. Of selected fields, exports and the dry
 * run of a deletion the document has extensions and words (decision 0065).
 */
import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { Json } from '../documentation/targets.ts'

const access = {
  read: 'parts:read',
  create: 'parts:write',
  update: 'parts:write',
  delete: 'parts:write',
} as const

const shelves = resource('shelves', {
  fields: { id: f.id(), name: f.string() },
  list: { filter: [], sort: [] },
  access,
  events: [],
})

const parts = resource('parts', {
  fields: {
    id: f.id(),
    shelf_id: f.ref('shelves'),
    name: f.string(),
    cost: f.int().default(1).visible('parts:write'),
    created_at: f.createdAt(),
  },
  list: { filter: [], sort: [] },
  search: ['name'],
  batch: true,
  export: true,
  softDelete: true,
  access,
  events: ['part.created', 'part.deleted'],
}).rule('create', async ({ lock, after }) => {
  await lock(shelves, after.shelf_id)
})

const workshop = service({
  name: 'workshop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [shelves, parts],
})

/** Returns a function that requires the documented status, media type and schema of a response. */
function responseAssertion({ app, send }: TestApp) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  const document = JSON.parse(JSON.stringify(app.openapi('v1')))
  ajv.addSchema(document, 'v1')
  return async (
    request: string,
    expected: number,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ) => {
    const [method = '', path = ''] = request.split(' ')
    const reply = await send(method, `/api/v1${path}`, body, headers)
    assert.equal(reply.status, expected, reply.text)
    const template = `/api/v1${path.split('?')[0]}`.replace(/\/\d+(?=\/|$)/, '/{id}')
    const { responses } = document.paths[template][method.toLowerCase()]
    const step = ['paths', template, method.toLowerCase(), 'responses', String(expected)]
    const response = responses[expected]
    assert.ok(response, `${request}: ${expected} is not documented`)
    for (const name of Object.keys(reply.headers)) {
      if (name !== 'preference-applied') continue
      assert.ok(response.headers['Preference-Applied'], request)
    }
    if (reply.text === '' || response.$ref) return reply
    const type = String(reply.headers['content-type']).split(';')[0]!
    assert.ok(response.content[type], `${request}: ${type} is not documented`)
    if (reply.body === undefined) return reply
    const pointer = [...step, 'content', type, 'schema'].map((name) =>
      encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')),
    )
    const validate = ajv.compile({ $ref: `v1#/${pointer.join('/')}` })
    assert.ok(validate(reply.body), `${request}: ${ajv.errorsText(validate.errors)}\n${reply.text}`)
    return reply
  }
}

const dry = { prefer: 'dry-run' }

eachService(
  'each variant of a response has its schema in the document',
  async (app) => {
    const expect = responseAssertion(app)
    await expect('POST /shelves', 201, { body: { name: 'left' } })
    const item = { shelf_id: 1, name: 'oak board' }
    await expect('POST /parts', 201, { body: item })
    await expect('POST /parts', 201, { body: item, headers: dry })
    await expect('POST /parts', 422, { body: { ...item, shelf_id: 9 } })
    await expect('POST /parts/batch', 422, { body: { items: [{ ...item, shelf_id: 9 }] } })
    const items = [item, { ...item, shelf_id: 9 }]
    const batch = await expect('POST /parts/batch', 200, { body: { items, atomic: false } })
    assert.deepEqual(
      batch.body.items.map(({ status }: { status: number }) => status),
      [201, 422],
    )
    for (const query of ['', 'expand=shelf', 'q=oak&expand=shelf']) {
      for (const style of ['cursor', 'keyset', 'offset', 'page', 'hypermedia']) {
        if (style === 'keyset' && query.startsWith('q')) continue
        const page = await expect(`GET /parts?${query}&pagination=${style}`, 200)
        assert.equal(page.body.data.length, 2)
      }
    }
    await expect('DELETE /parts/1', 204)
    const deleted = await expect('GET /parts?deleted=true', 200)
    assert.equal(deleted.body.data.length, 1)
    await expect('POST /parts/1/restore', 200, { headers: dry })
    const { get } = (app.app.openapi('v1') as Json).paths['/api/v1/parts']
    for (const accept of get['x-exports']) {
      const reply = await app.get('/api/v1/parts', { accept })
      assert.deepEqual(
        [reply.status, String(reply.headers['content-type']).split(';')[0]],
        [200, accept],
      )
    }
    const selected = await app.get(`/api/v1/parts?fields=${get['x-fields']}`)
    assert.deepEqual(Object.keys(selected.body.data[0]), get['x-fields'])
    for (const name of get['x-fields']) {
      const { data } = (await app.get(`/api/v1/parts?fields=${name}`)).body
      assert.deepEqual(Object.keys(data[0]), [name])
    }
  },
  { service: workshop },
)
