/** `gatehook move`, as a process (§2.8). */
import assert from 'node:assert/strict'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { gatehook } from './command.ts'

test('a move and its undoing are audited; the URL may come from the environment', async (t) => {
  const cwd = emptyFolder(t)
  const run = async (env: Record<string, string>, ...args: string[]) => {
    const { exit, stdout, stderr } = await gatehook({ cwd, env }, ...args, '--json')
    assert.equal(exit, 0, stderr)
    return JSON.parse(stdout)
  }
  const actionsOf = async (env: Record<string, string>) => {
    const rows: { action: string; target: string }[] = (await run(env, 'audit', 'list')).data
    return rows
      .filter(({ target }) => target === 'installation')
      .map(({ action }) => action)
      .reverse()
  }
  const target = 'sqlite:./data/moved.db'
  await run({}, 'migrate')
  await run({ GATEHOOK_MOVE_TO: target }, 'move')
  const moved = { GATEHOOK_DATABASE_URL: target }
  assert.deepEqual(await actionsOf(moved), ['installation.move', 'installation.moved'])
  assert.equal((await run(moved, 'audit', 'verify')).valid, true)
  const { target_stopped, lost } = await run({}, 'move', '--undo')
  assert.deepEqual([target_stopped, lost], [true, []])
  assert.deepEqual(await actionsOf({}), ['installation.move', 'installation.move_undo'])
  assert.equal((await run({}, 'audit', 'verify')).valid, true)
})

for (const has of ['no password', 'a password, which is not stored']) {
  test(`the undoing of a move to an address with ${has}`, async (t) => {
    const target = new URL(await freshUrl(t, 'postgres'))
    const env = has === 'no password' ? { PGPASSWORD: target.password } : {}
    if (has === 'no password') target.password = ''
    const cwd = emptyFolder(t)
    const run = (more: Record<string, string>, ...args: string[]) =>
      gatehook({ cwd, env: { ...env, ...more } }, ...args)
    assert.equal((await run({}, 'migrate')).exit, 0)
    const moved = await run({ GATEHOOK_MOVE_TO: target.href }, 'move')
    assert.equal(moved.exit, 0, moved.stderr)
    const { exit, stderr } = await run({}, 'move', '--undo')
    if (has === 'no password') return assert.equal(exit, 0, stderr)
    assert.match(stderr, /a password, which was not stored. Give its address in GATEHOOK_MOVE_TO/)
    assert.doesNotMatch(stderr, /role/)
    assert.match(stderr, /With --force, .* it still accepts writes/)
    assert.equal((await run({ GATEHOOK_MOVE_TO: target.href }, 'move', '--undo')).exit, 0)
  })
}

test('a forced undoing says that a target which it did not read accepts writes', async (t) => {
  const cwd = emptyFolder(t)
  const run = (...args: string[]) => gatehook({ cwd }, ...args)
  const moveAway = async () => {
    const file = join(cwd, 'data', 'moved.db')
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
    const { exit, stderr } = await run('move', '--to', 'sqlite:./data/moved.db')
    assert.equal(exit, 0, stderr)
    renameSync(file, join(cwd, 'elsewhere.db'))
  }
  assert.equal((await run('migrate')).exit, 0)
  await moveAway()
  const { exit, stdout } = await run('move', '--undo', '--force')
  assert.equal(exit, 0)
  assert.match(stdout, /moved\.db was not read, and still accepts writes: stop its nodes, and drop/)
  assert.match(stdout, /Ids continue after a gap of 1,\d{3},\d{3}: /)
  await moveAway()
  const json = JSON.parse((await run('move', '--undo', '--force', '--json')).stdout)
  assert.deepEqual([json.target_stopped, json.lost], [false, []])
  assert.match(json.target_fault, /cannot be read/)
  assert.ok(json.skipped_ids >= 1_000_000)
})

test('the undoing of a move refuses to lose rows, and names them', async (t) => {
  const cwd = emptyFolder(t)
  const run = (env: Record<string, string>, ...args: string[]) => gatehook({ cwd, env }, ...args)
  const moved = { GATEHOOK_DATABASE_URL: 'sqlite:./data/moved.db' }
  assert.equal((await run({}, 'migrate')).exit, 0)
  assert.equal((await run({}, 'move', '--to', moved.GATEHOOK_DATABASE_URL)).exit, 0)
  assert.equal((await run(moved, 'customers', 'create', 'Acme')).exit, 0)
  const refused = await run({}, 'move', '--undo')
  assert.equal(refused.exit, 1)
  assert.match(refused.stderr, /rows that this database lacks: .*1 of gh_customers.*--force/)
  assert.equal((await run({}, 'move', '--undo', '--force')).exit, 0)
  const late = await run(moved, 'customers', 'create', 'Late')
  assert.match(late.stderr, /read-only/)
})

test('after a move a start of the declaration before an addition succeeds', async (t) => {
  const cwd = emptyFolder(t)
  const run = async (env: Record<string, string>, ...args: string[]) => {
    const { exit, stderr } = await gatehook({ cwd, env }, ...args)
    assert.equal(exit, 0, stderr)
  }
  await run({}, 'init', '--no-pack')
  await run({}, 'migrate')
  const file = join(cwd, 'resources', 'users.ts')
  const previous = readFileSync(file, 'utf8')
  writeFileSync(
    file,
    previous.replace('id: f.id(),', "id: f.id(),\n    nick: f.string().default('x'),"),
  )
  const target = 'sqlite:./data/moved.db'
  const early = await gatehook({ cwd }, 'move', '--to', target)
  assert.match(early.stderr, /lacks column nick.*gatehook migrate/)
  await run({}, 'migrate')
  await run({}, 'move', '--to', target)
  writeFileSync(file, previous)
  await run({ GATEHOOK_DATABASE_URL: target }, 'migrate')
})
