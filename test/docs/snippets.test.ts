/** The comparison of pages with the service detects each kind of difference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differences, documentedStatus, stepsOf } from './snippets.ts'

const actual = { data: [{ id: 1, note: null }], has_more: true }

test('an equal shape has no differences, whatever the values', () => {
  assert.deepEqual(differences({ data: [{ id: 7, note: null }], has_more: false }, actual), [])
})

test('an additional, missing or other member and an empty list are differences', () => {
  assert.deepEqual(differences({ ...actual, total: 1 }, actual), [
    '/total is documented but absent',
  ])
  assert.deepEqual(differences({ data: actual.data }, actual), ['/has_more is not documented'])
  assert.deepEqual(differences({ ...actual, has_more: 'yes' }, actual), [
    '/has_more is documented as string and is boolean',
  ])
  assert.deepEqual(differences({ ...actual, data: [] }, actual), ['/data is documented as empty'])
})

test('a step is a block with curl and the response after it', () => {
  const page = [
    '```sh\nnpm start\n```',
    '```sh\nKEY=x\ncurl "$URL/a"\n```',
    '```http\nETag: "x"\n```',
    '```json\n{"error": "not_found", "status": 404}\n```',
  ].join('\n\n')
  const steps = stepsOf(page)
  const json = { error: 'not_found', status: 404 }
  assert.deepEqual(steps, [{ script: 'curl "$URL/a"\n', json, headers: ['etag'] }])
  assert.equal(documentedStatus(steps[0]?.json), 404)
  assert.equal(documentedStatus(actual), undefined)
})
