/** What holds the docs to the service can itself fail: each kind of lie is seen. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differences, promisedStatus, stepsOf } from './snippets.ts'

const real = { data: [{ id: 1, note: null }], has_more: true }

test('what fits has no differences, whatever the values', () => {
  assert.deepEqual(differences({ data: [{ id: 7, note: null }], has_more: false }, real), [])
})

test('a member too many, one too few, another kind, an emptied list are told', () => {
  assert.deepEqual(differences({ ...real, total: 1 }, real), ['/total is shown and is not there'])
  assert.deepEqual(differences({ data: real.data }, real), ['/has_more is not shown'])
  assert.deepEqual(differences({ ...real, has_more: 'yes' }, real), [
    '/has_more is shown as string and is boolean',
  ])
  assert.deepEqual(differences({ ...real, data: [] }, real), ['/data is shown empty'])
})

test('a step is its curl lines and the answer behind them; other shell lines are none', () => {
  const page = [
    '```sh\nnpm start\n```',
    '```sh\nKEY=x\ncurl "$URL/a"\n```',
    '```http\nETag: "x"\n```',
    '```json\n{"error": "not_found", "status": 404}\n```',
  ].join('\n\n')
  const steps = stepsOf(page)
  const json = { error: 'not_found', status: 404 }
  assert.deepEqual(steps, [{ script: 'curl "$URL/a"\n', json, headers: ['etag'] }])
  assert.equal(promisedStatus(steps[0]?.json), 404)
  assert.equal(promisedStatus(real), undefined)
})
