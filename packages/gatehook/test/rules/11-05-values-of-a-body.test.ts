/**
 * §11.5: a body is refused by the number of its values and of its different names, before it is
 * parsed: a MiB of empty objects takes a third of a second and 54 MB, and 49,000 names take 60 ms.
 * Open bodies count until the response, with their values.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import fc from 'fast-check'
import { eachService } from '../../../../test/rig/service.ts'
import { createIngress, createParseTurns } from '../../src/protocol/http/ingress.ts'
import { JSON_NAMES_MAX, measureJson, parseJsonBody } from '../../src/protocol/http/json-body.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const bytes = (text: string) => new TextEncoder().encode(text)
const countJsonValues = (text: string) => measureJson(bytes(text), 1e6).values

/** Values of a parsed text; members of objects count as values. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + valuesOf(inner), 1)
}

test('the count of a text is at least that of its values, and at most one more each', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      const count = countJsonValues(text)
      const values = valuesOf(JSON.parse(text))
      assert.ok(count >= values && count <= 2 * values, `${text}: ${count}, ${values}`)
    }),
  )
})

test('a count ends at its bound, also in an unfinished string', () => {
  const tooMany = { code: 'payload_too_large' }
  for (const text of [`[${'{},'.repeat(500)}1]`, '[1,2,3', '""'.repeat(7)]) {
    assert.throws(() => measureJson(bytes(text), 3), tooMany, text)
  }
  assert.equal(countJsonValues('["a\\"'), 2)
  assert.equal(countJsonValues('"\\'), 1)
  assert.equal(countJsonValues('"[[[[,,,,{{{{"'), 1)
})

test('a count ends at a bracket that closes nothing: a MiB of these took 0.25 s', () => {
  for (const bracket of [']', '}', '[]]', '{"a":[1,2]}}']) {
    const { values, names } = measureJson(bytes(bracket))
    const more = bytes(`${bracket}${',{"b":1}'.repeat(50)}`)
    assert.deepEqual(measureJson(more, values), { values, names })
    assert.throws(() => parseJsonBody(more), { code: 'invalid_json' })
  }
})

/** Adds the names of members in a parsed text. */
function namesOf(value: unknown, names = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return names
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) names.add(name)
    namesOf(inner, names)
  }
  return names
}

test('new names are counted in any object, with any white space, and each of wide objects', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 6 }),
      fc.constantFrom(0, 1, '\t', ' \n'),
      (json, space) => {
        const text = JSON.stringify(json, null, space)
        assert.equal(measureJson(bytes(text), 1e6).names, namesOf(JSON.parse(text)).size, text)
      },
    ),
  )
  const object = (names: number, from = 0) =>
    `{${Array.from({ length: names }, (_, n) => `"n${from + n}" : 1`)}}`
  const namesIn = (text: string) => measureJson(bytes(text)).names
  assert.equal(namesIn(object(JSON_NAMES_MAX)), JSON_NAMES_MAX)
  const row = (n: number) => object(50, 50 * n)
  const rows = (count: number) => Array.from({ length: count }, (_, n) => row(n))
  assert.equal(namesIn(`[${rows(100)},${rows(100)},[${rows(100)}]]`), 5_000)
  // Beyond the hundredth, names of an object count again.
  assert.equal(namesIn(`[${object(1_000)},{"a":${object(1_000)}}]`), 100 + 2 * 900 + 1)
  const wide = Array.from({ length: 6 }, () => object(1_000))
  for (const text of [object(JSON_NAMES_MAX + 1), `[${rows(101)}]`, `[${wide}]`]) {
    assert.throws(() => parseJsonBody(bytes(text)), /more than 5,000 names of members/)
  }
})

test('callers of a customer take turns for their costly bodies', async () => {
  const noRest = { restMs: () => 0, addWork: () => 0 }
  const turns = createParseTurns(noRest, { elapsedMs: () => 0 })
  const parsed: string[] = []
  const ends: (() => void)[] = []
  const take = (caller: string) =>
    turns({ caller, group: 'customer' }, () => {
      parsed.push(caller)
      return new Promise<void>((resolve) => void ends.push(resolve))
    })
  const all = [...'aaaabc'].map(take)
  for (let n = 0; n < all.length; n++) {
    while (ends.length === n) await nextTick() // the body of the next turn begins
    ends[n]!()
  }
  await Promise.all(all)
  assert.equal(parsed.join(''), 'abcaaa')
})

test('a quote ends a text unless an odd number of backslashes precedes it', () => {
  for (let slashes = 0; slashes < 6; slashes++) {
    const text = `["${'\\'.repeat(slashes)}",1]`
    const isWhole = slashes % 2 === 0
    assert.equal(countJsonValues(text), isWhole ? 3 : 2, text)
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
  const names = Array.from({ length: 5_001 }, (_, n) => `"n${n}":1`)
  assert.equal(await post('/api/v2/orders', `{${names}}`), 413)
  // Not JSON: the count comes first.
  assert.equal(await post('/api/v2/orders', ','.repeat(60_000)), 413)
  for (const path of ['/auth/login', '/auth/refresh', '/auth/logout', '/console/session']) {
    assert.equal(await post(path, list(2_000)), 413, path)
  }
  for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/sign-in']) {
    assert.equal(await post(path, 'a=1&'.repeat(2_000), FORM), 413, path)
  }
})
