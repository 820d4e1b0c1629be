import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from './files.ts'

test('a folder and its parents are created with mode 0700, once', (t) => {
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

test('a folder below /proc fails at once', (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux has /proc')
  assert.throws(() => makeFolder('/proc/gatehook/data'), { code: 'ENOENT' })
})
