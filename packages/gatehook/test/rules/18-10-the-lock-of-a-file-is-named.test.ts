/**
 * §18.10: readiness, attention and log name the process that holds the lock of a SQLite file, and
 * a file or folder that the node may not write.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { Failure } from '../../src/kernel/failure.ts'
import type { Log } from '../../src/kernel/log.ts'
import type { AttentionSources } from '../../src/operate/monitoring/attention-kind.ts'
import { heldLocks } from '../../src/operate/monitoring/attention-locks.ts'
import { listUnreadyReasons, writeChecks } from '../../src/operate/system/health.ts'
import { createLockHolders } from '../../src/operate/system/lock-holders.ts'
import { StorageWaitError } from '../../src/platform/storage/database.ts'
import { findFileLockHolder } from '../../src/platform/storage/file-lock-holder.ts'
import { writeSetting } from '../../src/platform/storage/settings.ts'
import { openSqlite } from '../../src/platform/storage/sqlite.ts'
import { describeAccess } from '../../src/platform/storage/sqlite-access.ts'
import { FileFaultError } from '../../src/platform/storage/sqlite-errors.ts'
import { describeStorageFailure } from '../../src/platform/storage/storage-failure.ts'

const SECRET = 'only-the-process-may-know-this'

/** Starts another program with the lock of a file; its arguments are the file and a secret. */
async function holdLock(t: TestContext, file: string): Promise<ChildProcess> {
  const program = `
    const { DatabaseSync } = require('node:sqlite')
    const database = new DatabaseSync(process.argv[1])
    database.exec('BEGIN IMMEDIATE')
    console.log('held')
    process.stdin.resume()`
  const child = spawn(process.execPath, ['-e', program, file, SECRET])
  onEnd(t, () => void child.kill('SIGKILL'))
  await once(child.stdout!, 'data')
  return child
}

/** A clock that runs a hundred times as fast, so that no test waits for seconds. */
const FAST = 100
const fastClock = { ...wallClock, elapsedMs: () => wallClock.elapsedMs() * FAST }

async function openFile(t: TestContext) {
  const lines: string[] = []
  const log = {
    warn: (_: object, line: string) => void lines.push(line),
    ...{ debug() {}, info() {}, error() {}, fatal() {} },
  } as unknown as Log
  const file = join(emptyFolder(t), 'a.db')
  const db = await openSqlite(file, { log, clock: fastClock })
  onEnd(t, () => db.close())
  await db.migrate(async (_, ddl) =>
    ddl('CREATE TABLE gh_settings (name TEXT PRIMARY KEY, value TEXT)'),
  )
  const holders = createLockHolders({ db, clock: fastClock, log })
  return { db, file, lines, log, holders }
}

const sentenceOf = (pid: number | undefined, file: string) =>
  new RegExp(`^Process ${pid} \\(node ${file}\\) holds the lock of the database file, for which `)

test('the process that holds the lock of the file is named, without its arguments', async (t) => {
  const { db, file, lines, log, holders } = await openFile(t)
  const write = () => db.write((tx) => writeSetting(tx, 'a', 1))
  await write()
  assert.deepEqual([holders.warning(), lines], [undefined, []])
  const child = await holdLock(t, file)
  const sentence = sentenceOf(child.pid, file)
  const failed = await write().catch((error: unknown) => error)
  assert.ok(failed instanceof Failure && failed.code === 'storage_unavailable', String(failed))
  assert.match(describeStorageFailure(failed) ?? '', sentence)
  assert.equal(lines.length, 1, 'the log has it once')
  assert.match(lines[0]!, sentence)
  const warning = holders.warning() as { readonly message: string; readonly detail: string }
  assert.match(warning.detail, sentence)
  assert.ok(!warning.message.includes(String(child.pid)), 'any caller reads probes')
  const writes = writeChecks(db, fastClock).writes
  const [reason] = await listUnreadyReasons({ writes }, log, holders.fileWarning)
  assert.equal(reason?.check, 'writes')
  assert.match(reason.detail ?? '', sentence)
  const sources = { lockHolders: holders.list } as unknown as AttentionSources
  const [item] = await heldLocks(sources, 0)
  assert.deepEqual(
    [item?.kind, item?.severity, item?.subject.type],
    ['lock_held', 'bad', 'process'],
  )
  assert.equal(item?.subject.label, `node ${file} (${child.pid})`)
  assert.ok(!JSON.stringify([lines, warning, reason, item]).includes(SECRET))
  child.kill('SIGKILL')
  await once(child, 'close')
  await write()
  assert.deepEqual([holders.warning(), holders.list()], [undefined, []], 'it ends with the lock')
})

test('a check that waits for the lock names its holder', async (t) => {
  const { file, log, holders, db } = await openFile(t)
  const child = await holdLock(t, file)
  await db.write((tx) => writeSetting(tx, 'a', 1)).catch(() => undefined)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const reasons = listUnreadyReasons(
    { writes: () => new Promise(() => {}) },
    log,
    holders.fileWarning,
  )
  t.mock.timers.tick(2_000)
  const [reason] = await reasons
  assert.match(reason?.message ?? '', /^No answer within 2000 ms\. Writes wait for the lock/)
  assert.match(reason?.detail ?? '', new RegExp(`ms\\. Process ${child.pid} `))
})

test('a start names the process that holds the lock, and may be repeated', async (t) => {
  const { file, log } = await openFile(t)
  const child = await holdLock(t, file)
  const open = openSqlite(file, { log, clock: fastClock, ownership: { takesOver: true } })
  await assert.rejects(open, (error: Error) => {
    assert.ok(error instanceof StorageWaitError, String(error))
    assert.match(error.message, new RegExp(`Process ${child.pid} \\(node ${file}\\)`))
    return true
  })
})

test('locks of readers and of other files are no holders', async (t) => {
  const { file } = await openFile(t)
  const [database, index] = [file, `${file}-shm`].map((path) => statSync(path).ino)
  const lineOf = (kind: string, pid: number, inode: number | undefined, bytes: string) =>
    `1: POSIX  ADVISORY  ${kind} ${pid} fe:00:${inode} ${bytes}`
  const find = (line: string) => findFileLockHolder(file, () => `${line}\n`)?.pid
  const other = process.pid + 1
  for (const line of [
    lineOf('READ ', other, database, '1073741826 1073742335'),
    lineOf('READ ', other, index, '123 123'),
    lineOf('WRITE', other, index, '123 123'),
    lineOf('WRITE', other, database! + 1_000_000, '0 EOF'),
    `1: -> POSIX  ADVISORY  WRITE ${other} fe:00:${index} 120 120`,
    '',
  ]) {
    assert.equal(find(line), undefined, line)
  }
  assert.equal(find(lineOf('WRITE', other, index, '120 120')), other)
  assert.equal(find(lineOf('WRITE', other, database, '0 EOF')), other)
  const own = lineOf('WRITE', process.pid, index, '120 120')
  assert.equal(find(own), process.pid)
  assert.equal(find(`${own}\n${lineOf('WRITE', other, index, '120 120')}`), other)
})

/** A machine that denies one path with an error, as it does to an ordinary user. */
const denying = (denied: string, code: string, user?: number) => ({
  user: () => user ?? process.geteuid?.(),
  access(path: string) {
    if (path === denied) throw Object.assign(new Error('denied'), { code })
  },
})

const OTHER_USER = 65_534

const denials: readonly (readonly [
  title: string,
  suffix: string,
  error: readonly [code: string, user?: number],
  sentence: RegExp,
])[] = [
  [
    'a file of another user',
    '/a.db',
    ['EACCES', OTHER_USER],
    /a\.db has the mode 0640 and belongs to the user \d+, .* \(user 65534\) .*: chown 65534 \S*$/,
  ],
  [
    'a file without the right to write',
    '/a.db',
    ['EACCES'],
    /a\.db has the mode 0640, and this process \(user \d+\) .*: chmod 600 \S*a\.db$/,
  ],
  ['a log of the file', '/a.db-wal', ['EACCES'], /: chmod 600 \S*a\.db-wal$/],
  ['a folder', '', ['EACCES'], /has the mode 0750, .*: chmod 700 \S*$/],
  ['a folder that is mounted read-only', '', ['EROFS'], /mounted read-only\. .*dmesg/],
  ['an immutable file', '/a.db', ['EPERM'], /is immutable: chattr -i \S*a\.db$/],
]

for (const [title, suffix, [code, user], sentence] of denials) {
  test(`${title} is named with its repair`, (t) => {
    const folder = join(emptyFolder(t), 'data')
    mkdirSync(folder)
    chmodSync(folder, 0o750)
    const file = join(folder, 'a.db')
    for (const path of [file, `${file}-wal`]) {
      writeFileSync(path, '')
      chmodSync(path, 0o640)
    }
    assert.equal(describeAccess(file), undefined)
    const described = describeAccess(file, denying(folder + suffix, code, user)) ?? ''
    assert.match(described, sentence)
    assert.equal(describeStorageFailure(new FileFaultError(described)), described)
  })
}
