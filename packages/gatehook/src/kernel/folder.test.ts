/** Folders are made with those above them; where none can be made, that is said at once. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from './folder.ts'

test('a folder and those above it are made, for this user only; again is fine', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'gatehook-folder-'))
  t.after(() => rmSync(root, { recursive: true }))
  makeFolder(join(root, 'a', 'b'))
  makeFolder(join(root, 'a', 'b'))
  for (const path of [join(root, 'a'), join(root, 'a', 'b')]) {
    assert.equal(statSync(path).mode & 0o777, 0o700)
  }
  writeFileSync(join(root, 'file'), '')
  assert.throws(() => makeFolder(join(root, 'file', 'below')), { code: 'ENOTDIR' })
})

test('a place that takes no folders is refused instead of asked for ever', (t) => {
  if (process.platform !== 'linux') return t.skip('/proc is Linux’s')
  assert.throws(() => makeFolder('/proc/gatehook/data'), { code: 'ENOENT' })
})
