/** A lock file that was edited by hand, or written by another Gatehook (§8.11). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseLock } from './lock.ts'

const lockText = readFileSync(new URL('../../../service/api.lock.json', import.meta.url), 'utf8')

/** Returns a lock of one version, which is valid but for these members. */
const lockWith = (members: object): string =>
  JSON.stringify({
    lock: 1,
    versions: { v1: { fields: {}, document: { paths: {} }, rules: {}, vendor: 'a', ...members } },
  })

test('a damaged lock is rejected with its place, and the way to restore it', () => {
  const rules = { things: { limits: [{}], effects: [] } }
  const reference = '"$ref":"#/components/schemas/User"'
  const damagedTexts: readonly [text: string, mistake: RegExp][] = [
    ['null', /: #\/lock is not 1\./],
    ['[]', /: #\/lock is not 1\./],
    ['{}', /: #\/lock is not 1\./],
    ['{"lock":1}', /: #\/versions is not an object\./],
    ['{"lock":1,"versions":[]}', /: #\/versions is not an object\./],
    ['{"lock":1,"versions":{},"accepted":{}}', /: #\/accepted is not a list\./],
    [
      '{"lock":1,"versions":{},"accepted":[{"date":"2027-01-31"}]}',
      /: #\/accepted\/0\/reason is not a text\./,
    ],
    ['{"lock":1,"versions":{"a/b":5}}', /: #\/versions\/a~1b\/fields is not an object\./],
    [lockWith({ document: {} }), /: #\/versions\/v1\/document\/paths is not an object\./],
    [lockWith({ fields: 5 }), /: #\/versions\/v1\/fields is not an object\./],
    [lockWith({ fields: { a: null } }), /\/v1\/fields\/a is not an object\./],
    [lockWith({ fields: { a: { b: 5 } } }), /\/v1\/fields\/a\/b is not an object\./],
    [lockWith({ narrowings: {} }), /\/v1\/narrowings is not a list\./],
    [lockWith({ vendor: 5 }), /\/v1\/vendor is not a text\./],
    [lockWith({ rules }), /\/v1\/rules\/things\/limits\/0\/fields is not a list\./],
    [lockText.replace('"components"', '"component"'), /\$ref: #\S+ is not a component/],
    [
      lockText.replace(reference, '"$ref":"#/components/schemas/Nil"'),
      /: #\/versions\/v1\/document\/\S+\/\$ref: #\/components\/schemas\/Nil is not a /,
    ],
    [lockText.replace(reference, '"$ref":"other.json"'), /\$ref: other\.json is not a component/],
  ]
  for (const [text, mistake] of damagedTexts) {
    assert.notEqual(text, lockText)
    assert.throws(
      () => parseLock(text, 'it'),
      ({ message }: Error) => {
        assert.match(message, mistake)
        assert.match(message, /^it is not a valid lock: .*\. Undo .*`gatehook check --update`\.$/)
        return true
      },
    )
  }
  assert.ok(parseLock(lockText, 'it'))
  assert.ok(parseLock(lockWith({}), 'it'))
})

test('the lock of a newer Gatehook is rejected', () => {
  assert.throws(() => parseLock('{"lock":2,"promises":[]}', 'it'), /newer Gatehook/)
})
