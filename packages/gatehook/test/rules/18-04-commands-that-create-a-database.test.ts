/** §18.4: only start, dev, migrate, seed, restore and move create a database. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import type { CommandSpec } from '../../src/cli/command.ts'
import { loadCommands } from '../../src/cli/commands.ts'
import { gatehook } from '../cli/command.ts'

const CREATING = ['start', 'dev', 'migrate', 'seed', 'restore', 'move']

/** Returns the words of a command: `keys revoke <ID>` is `['keys', 'revoke', 'x']`. */
const wordsOf = (name: string): string[] =>
  name.split(' ').map((word) => (/^[<[]/.test(word) ? 'x' : word))

async function listOtherCommands(): Promise<string[][]> {
  const commands = (await loadCommands(undefined)).filter(
    ({ name }) => !CREATING.includes(name.split(' ')[0]!),
  )
  return commands.flatMap((entry) => {
    const members: readonly CommandSpec[] = 'commands' in entry ? entry.commands : []
    const lines = members.map(({ name }) => [entry.name, ...wordsOf(name)])
    return lines.length > 0 ? lines : [wordsOf(entry.name)]
  })
}

/** Options without which a command ends before it looks for the database. */
const NAMED = ['--name', 'A', '--scopes', 'events:read']

/** `gatehook listen` stores a secret of its own in the data folder. */
const hasInstallation = (folder: string): boolean =>
  existsSync(folder) && readdirSync(folder).some((name) => name !== 'listen.secret')

test('no other command creates a database', async (t) => {
  const cwd = emptyFolder(t)
  for (const words of await listOtherCommands()) {
    await gatehook({ cwd }, ...words)
    assert.ok(!hasInstallation(join(cwd, 'data')), `gatehook ${words.join(' ')}`)
  }
  for (const words of [
    ['keys', 'create', ...NAMED],
    ['clients', 'create', '--name', 'A', '--public'],
    ['customers', 'create', 'Acme'],
    ['users', 'create', 'email=a@example.com'],
    ['operators', 'create', 'a@example.com'],
  ]) {
    const { exit, stderr } = await gatehook({ cwd }, ...words)
    assert.equal(exit, 1, words.join(' '))
    assert.match(stderr, /There is no database at .*gatehook\.db\. Start the service/)
    assert.ok(!hasInstallation(join(cwd, 'data')), words.join(' '))
  }
})

test('no other command creates tables in an empty database of PostgreSQL', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const env = {
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
  }
  const { exit, stderr } = await gatehook({ cwd: emptyFolder(t), env }, 'keys', 'create', ...NAMED)
  assert.equal(exit, 1, stderr)
  assert.match(stderr, /There is no installation in the database/)
  assert.deepEqual(await (await openForTest(t, url)).columns('gh_settings'), [])
})

test('a start refuses each part of an installation without its database', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const data = join(place.cwd, 'data')
  const refusals = ['secret.key', 'gatehook.db-wal', 'gatehook.db.monitoring.db']
  for (const name of refusals) {
    rmSync(data, { recursive: true, force: true })
    mkdirSync(data)
    writeFileSync(join(data, name), 'content')
    for (const command of [['start', '--port', '0'], ['migrate'], ['seed']]) {
      const { exit, stderr } = await gatehook(place, ...command)
      assert.equal(exit, 78, `${command}: ${stderr}`)
      assert.match(stderr, /no database at \S+gatehook\.db, but \S+ belongs to an installation/)
      assert.ok(stderr.includes(join(data, name)), stderr)
      assert.deepEqual(readdirSync(data), [name])
    }
    const { exit, stdout } = await gatehook(place, 'doctor')
    assert.equal(exit, 1)
    assert.match(stdout, /database +fail +There is no database at/)
  }
})
