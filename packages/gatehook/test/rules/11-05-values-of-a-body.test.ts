/**
 * §11.5: a body is refused by the number of its values, before it is parsed: a MiB of empty objects
 * takes a third of a second and 54 MB. Open bodies count until the response, with their values.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eachService } from '../../../../test/rig/service.ts'
import { createIngress } from '../../src/protocol/http/ingress.ts'
import { countJsonValues, parseJsonBody } from '../../src/protocol/http/json-body.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const bytes = (text: string) => new TextEncoder().encode(text)

/** Values of a parsed text; members of objects count as values. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + valuesOf(inner), 1)
}

test('the count of a text is at least that of its values, and at most one more each', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      const count = countJsonValues(bytes(text), 1e6)
      const values = valuesOf(JSON.parse(text))
      assert.ok(count >= values && count <= 2 * values, `${text}: ${count}, ${values}`)
    }),
  )
})

test('a count ends at its bound, also in an unfinished string', () => {
  assert.equal(countJsonValues(bytes(`[${'{},'.repeat(500)}1]`), 10), 11)
  assert.equal(countJsonValues(bytes('["a\\"'), 10), 2)
  assert.equal(countJsonValues(bytes('"\\'), 10), 1)
  assert.equal(countJsonValues(bytes('"[[[[,,,,{{{{"'), 10), 1)
})

test('a quote ends a text unless an odd number of backslashes precedes it', () => {
  for (let slashes = 0; slashes < 6; slashes++) {
    const text = `["${'\\'.repeat(slashes)}",1]`
    const isWhole = slashes % 2 === 0
    assert.equal(countJsonValues(bytes(text), 10), isWhole ? 3 : 2, text)
    if (isWhole) assert.deepEqual(parseJsonBody(bytes(text)), ['\\'.repeat(slashes / 2), 1])
  }
  const white = ' \n\t\r'.repeat(50)
  assert.throws(() => parseJsonBody(bytes(`{${white}"a":1,${white}"a":2${white}}${white}`)))
  assert.deepEqual(parseJsonBody(bytes(`${white}[${white}1${white}]${white}`)), [1])
})

test('a repeated member is found at any place of an object', () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"b":1,"a":1,"a":2}',
    '{"":1,"":2}',
    '[{"x":{"a":1,"a":1}}]',
  ])
    assert.throws(() => parseJsonBody(bytes(text)), /The body is not accepted/)
})

test('a body that is handled counts with its values, and is not cut as slow', () => {
  const time = { ms: 0 }
  const bounds = { process: 100, group: 100, caller: 100, small: 0, stalledMs: 10 }
  const ingress = createIngress({ elapsedMs: () => time.ms }, bounds)
  const cut: string[] = []
  const hold = (name: string) => ingress.hold({ group: name, caller: name }, () => cut.push(name))
  const handled = hold('a')
  assert.equal(handled.grow(60), undefined)
  handled.keep()
  assert.equal(handled.grow(20), undefined, 'its values')
  time.ms = 1000
  assert.equal(hold('b').grow(30), 'process')
  assert.deepEqual(cut, [])
  handled.release()
  assert.equal(ingress.total, 0)
})

eachService('a body with too many values is 413 before it is parsed', async (service) => {
  const list = (values: number) => `{"a":[${'0,'.repeat(values)}0]}`
  const post = async (path: string, text: string, headers = {}) =>
    (await service.post(path, text, headers)).status
  assert.equal(await post('/api/v2/orders', list(40_000)), 422)
  assert.equal(await post('/api/v2/orders', list(60_000)), 413)
  // Not JSON: the count comes first.
  assert.equal(await post('/api/v2/orders', ','.repeat(60_000)), 413)
  for (const path of ['/auth/login', '/auth/refresh', '/auth/logout', '/console/session']) {
    assert.equal(await post(path, list(2_000)), 413, path)
  }
  for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/sign-in']) {
    assert.equal(await post(path, 'a=1&'.repeat(2_000), FORM), 413, path)
  }
})
