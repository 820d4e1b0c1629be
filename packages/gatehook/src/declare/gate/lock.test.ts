/** A lock file that was edited by hand, or written by another Gatehook (§8.11). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseLock } from './lock.ts'

const lockText = readFileSync(new URL('../../../service/api.lock.json', import.meta.url), 'utf8')

test('a damaged lock is rejected with the way to restore it', () => {
  const damagedTexts = [
    'null',
    '[]',
    '{}',
    '{"lock":1}',
    '{"lock":1,"versions":[]}',
    '{"lock":1,"versions":{},"accepted":{}}',
    '{"lock":1,"versions":{},"accepted":[{"date":"2027-01-31"}]}',
    '{"lock":1,"versions":{"v1":{"fields":{},"document":{}}}}',
    '{"lock":1,"versions":{"v1":{"fields":5,"document":{"paths":{}}}}}',
    '{"lock":1,"versions":{"v1":{"fields":{"things":null},"document":{"paths":{}}}}}',
    lockText.replace('"components"', '"component"'),
    lockText.replace('"$ref":"#/components/schemas/User"', '"$ref":"#/components/schemas/Nil"'),
    lockText.replace('"$ref":"#/components/schemas/User"', '"$ref":"other.json"'),
  ]
  for (const text of damagedTexts) {
    assert.notEqual(text, lockText)
    assert.throws(() => parseLock(text, 'it'), /^LockError: it is not a valid.*main branch/, text)
  }
  assert.ok(parseLock(lockText, 'it'))
})

test('the lock of a newer Gatehook is rejected', () => {
  assert.throws(() => parseLock('{"lock":2,"promises":[]}', 'it'), /newer Gatehook/)
})
