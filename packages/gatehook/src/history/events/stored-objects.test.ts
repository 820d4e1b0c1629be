import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../kernel/principal.ts'
import { envelope } from './event.ts'
import { createStoredObjects } from './stored-objects.ts'

const SINCE = 1_000
const scope = 0 as Scope
const { objectOf, bodyOf } = createStoredObjects({
  types: new Map([['report.ready', [{ version: 'v1', visible: ['url'], hidden: [] }]]]),
  collections: new Map([
    [
      'notes',
      [
        { version: 'v1', visible: ['id', 'title'], hidden: ['pay'] },
        { version: 'v2', visible: ['id', 'name'], hidden: ['pay'] },
      ],
    ],
  ]),
  since: SINCE,
})
const OBJECT = '{"id":1,"name":"Ada","pay":5,"gone":6}'
const event = { id: 'evt_1', type: 'note.created', collection: 'notes', shape: 'v2', scope }
const stored = { ...event, object: OBJECT }

test('a former object has the members that its version shows', () => {
  const read = (shape: string, object: string) =>
    objectOf({ ...event, shape, object, created: SINCE })
  assert.equal(read('v2', OBJECT), '{"id":1,"name":"Ada"}')
  assert.equal(read('v1', '{"id":1,"title":"Ada","pay":5}'), '{"id":1,"title":"Ada"}')
  // The service no longer has the version: the newest one decides.
  assert.equal(read('v3', OBJECT), '{"id":1,"name":"Ada"}')
  const report = { type: 'report.ready', collection: null, shape: 'v1', created: SINCE }
  assert.equal(objectOf({ ...report, object: '{"url":"a","pay":5}' }), '{"url":"a"}')
  assert.equal(objectOf({ ...report, type: 'ping', object: OBJECT }), OBJECT)
})

test('a later object keeps the members of a newer declaration, but no hidden one', () => {
  const read = (object: string) => objectOf({ ...event, object, created: SINCE + 1 })
  assert.equal(read(OBJECT), '{"id":1,"name":"Ada","gone":6}')
  assert.equal(objectOf({ ...stored, shape: 'v3', created: SINCE + 1 }), read(OBJECT))
})

test('a body has the members of its version or a successor; else the object is sent', () => {
  const body = (version: string, object: string) =>
    bodyOf({
      ...stored,
      created: SINCE,
      version,
      body: envelope({ ...event, created: SINCE }, object),
    })
  const sent = (object: string) => envelope({ ...event, created: SINCE }, object)
  assert.equal(body('v1', '{"id":1,"title":"Ada","pay":5}'), sent('{"id":1,"title":"Ada"}'))
  assert.equal(body('v1', '{"id":1,"name":"Ada"}'), sent('{"id":1,"name":"Ada"}'))
  assert.equal(body('v0', '{"id":1,"label":"Ada"}'), sent('{"id":1,"name":"Ada"}'))
})

test('an object of this declaration is not parsed', (t) => {
  const parse = t.mock.method(JSON, 'parse')
  const text = '{"id":1,"name":"Ada"}'
  const recorded = { ...event, object: text, created: SINCE + 1 }
  assert.equal(objectOf(recorded), text)
  assert.equal(bodyOf({ ...recorded, version: 'v2', body: null }), envelope(recorded, text))
  assert.equal(parse.mock.callCount(), 0)
})
