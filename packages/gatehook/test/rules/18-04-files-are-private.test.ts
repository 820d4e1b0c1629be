/** Every file of an installation belongs to its user only, also in a folder that others read. */
import assert from 'node:assert/strict'
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

const modesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => [name, statSync(join(parentPath, name)).mode & 0o077] as const)
    .filter(([, others]) => others !== 0)
    .map(([name, others]) => `${name} ${others.toString(8)}`)

test('a start and a migration create files of mode 0600 in an open folder', async (t) => {
  for (const run of ['start', 'migrate'] as const) {
    const cwd = emptyFolder(t)
    chmodSync(cwd, 0o755)
    const env = { GATEHOOK_DATABASE_URL: 'sqlite:./gatehook.db' }
    if (run === 'migrate') await gatehook({ cwd, env }, 'migrate')
    else await serving(t, { cwd, env })
    const names = readdirSync(cwd)
    assert.ok(names.includes('gatehook.db'), names.join(' '))
    assert.deepEqual(modesOf(cwd), [], run)
  }
})

test('doctor names a database that others can read', async (t) => {
  const cwd = emptyFolder(t)
  await gatehook({ cwd }, 'migrate')
  chmodSync(join(cwd, 'data', 'gatehook.db'), 0o644)
  const { stdout } = await gatehook({ cwd }, 'doctor', '--json')
  assert.match(stdout, /gatehook\.db has mode 644: others can read it/)
})
