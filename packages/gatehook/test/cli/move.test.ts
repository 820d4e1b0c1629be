/** `gatehook move`, as a process (§2.8). */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder, gatehook } from './process.ts'

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
  await run({}, 'migrate')
  const target = 'sqlite:./data/moved.db'
  await run({}, 'move', '--to', target)
  writeFileSync(file, previous)
  await run({ GATEHOOK_DATABASE_URL: target }, 'migrate')
})
