/** What a lock file may be that somebody edited, or another Gatehook wrote (§8.11). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readLock } from './lock.ts'

const committed = readFileSync(new URL('../../service/api.lock.json', import.meta.url), 'utf8')

test('a torn lock is refused, and says whence a whole one comes', () => {
  const torn = [
    ...['null', '[]', '{}', '{"lock":1}', '{"lock":1,"versions":[]}'],
    '{"lock":1,"versions":{"v1":{"fields":{},"document":{}}}}',
    '{"lock":1,"versions":{"v1":{"fields":5,"document":{"paths":{}}}}}',
    '{"lock":1,"versions":{"v1":{"fields":{"things":null},"document":{"paths":{}}}}}',
    committed.replace('"components"', '"component"'),
  ]
  for (const text of torn) {
    assert.throws(() => readLock(text, 'it'), /^LockError: it is not a whole.*main branch/, text)
  }
  assert.ok(readLock(committed, 'it'))
})

test('the lock of a newer Gatehook is left to it', () => {
  assert.throws(() => readLock('{"lock":2,"promises":[]}', 'it'), /newer Gatehook/)
})
