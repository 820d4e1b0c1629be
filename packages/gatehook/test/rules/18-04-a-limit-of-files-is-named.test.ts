/** §18.4: a limit of the size of files, which SQLite reports as an I/O error, is named. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { describeSizeLimit } from '../../src/platform/storage/sqlite-access.ts'

const limitsOf = (limit: string) => () =>
  `Limit                     Soft Limit           Hard Limit           Units
Max file size             ${limit.padEnd(21)}unlimited            bytes
Max open files            1024                 4096                 files
`

test('the file that reaches the limit is named', (t) => {
  const file = join(emptyFolder(t), 'gatehook.db')
  writeFileSync(file, 'x'.repeat(1_000))
  writeFileSync(`${file}-wal`, 'x'.repeat(500_000))
  assert.equal(describeSizeLimit(file, limitsOf('unlimited')), undefined)
  assert.equal(describeSizeLimit(file, limitsOf('100000000')), undefined)
  assert.equal(
    describeSizeLimit(file, () => ''),
    undefined,
  )
  assert.match(
    describeSizeLimit(file, limitsOf('1400000'))!,
    /gatehook\.db-wal has 500000 bytes, and this process may write files of 1400000 bytes: raise /,
  )
})

const WRITE = (file: string, url: string) => `
  import { openDatabase } from ${JSON.stringify(url)}
  import { execFileSync } from 'node:child_process'
  const log = { info() {}, warn() {}, error() {}, fatal() {} }
  const db = await openDatabase('sqlite:${file}', { log })
  await db.migrate((_tx, ddl) => ddl('CREATE TABLE t (name TEXT NOT NULL)'))
  execFileSync('prlimit', ['--fsize=1000000', '--pid', String(process.pid)])
  const statement = { sql: 'INSERT INTO t VALUES (?)', text: '', values: ['x'.repeat(2000000)] }
  const failure = await db.write((tx) => tx.run(statement)).catch((error) => error)
  console.log(failure.code, failure.detail.message)
`

test('a write beyond the limit has the cause', (t) => {
  const file = join(emptyFolder(t), 'gatehook.db')
  const url = new URL('../../src/platform/storage/open.ts', import.meta.url).href
  const args = ['--input-type=module', '-e', WRITE(file, url)]
  const text = execFileSync(process.execPath, args, { encoding: 'utf8' })
  assert.match(
    text,
    /^storage_unavailable \S+gatehook\.db(-wal)? has \d+ bytes, .* prlimit --fsize/,
  )
})
