/**
 * §8.11: the reference service against its own `api.lock.json`. A failure prints the report of
 * `gatehook check` with the breaks and their remedy.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { api } from '../../service/service.ts'
import { check } from '../../src/cli/check.ts'
import { reportOf } from '../../src/cli/check-report.ts'
import { lockOf, parseLock } from '../../src/declare/gate/lock.ts'

const path = new URL('../../service/api.lock.json', import.meta.url)
const file = 'packages/gatehook/service/api.lock.json'

test('the reference service keeps its promises', () => {
  const lock = parseLock(readFileSync(path, 'utf8'), file)
  const checked = check(api.definition, lock)
  const today = new Date().toISOString().slice(0, 10)
  const rewrite = 'not requested'
  const sql = { mistakes: [], unscoped: [] }
  const report = reportOf({ ...checked, callers: undefined, file, today, rewrite, sql })
  const breaks = checked.verdicts.flatMap(({ breaks }) => breaks)
  assert.ok(breaks.length === 0, `\n${stripVTControlCharacters(report)}\n`)
})

test('the lock has every version of the reference service', () => {
  const lock = parseLock(readFileSync(path, 'utf8'), file)
  const declared = api.definition.versions.map(({ name }) => name)
  const hint = `${file} promises other versions than are declared: npm run spec writes it`
  assert.deepEqual(Object.keys(lock.versions), declared, hint)
  assert.deepEqual(
    lockOf(new Map(Object.entries(lock.versions))),
    lock,
    'the lock is in its serialized form',
  )
})
