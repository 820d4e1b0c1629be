/** `gatehook dev` restarts the service after each change of a source file. */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { gatehook } from './command.ts'
import { launched } from './process.ts'

const service = (name: string) => `import { f, resource, service } from 'gatehook'
const things = resource('things', {
  fields: { id: f.id(), name: f.string() },
  list: { filter: ['name'], sort: ['name'] },
  access: { read: 'things:read', create: false, update: false, delete: false },
  events: [],
})
export const api = service({
  name: '${name}', versions: { v1: { released: '2026-11-01' } }, resources: [things],
})
`

const nameAt = async (url: unknown) => {
  const response = await fetch(`${url}/`, { headers: { accept: 'application/json' } })
  return ((await response.json()) as { name: string }).name
}

test('each change restarts the service, a replaced file included', async (t) => {
  const cwd = emptyFolder(t)
  const file = join(cwd, 'service.ts')
  const save = (name: string) => {
    writeFileSync(`${file}~`, service(name))
    renameSync(`${file}~`, file)
  }
  save('First')
  const run = launched(t, { cwd }, 'dev', '--port', '0')
  const urlOfLast = () => run.lines.findLast(({ msg }) => msg === 'listening')?.url
  /** Waits for a declaration. A change that is seen in two parts restarts the service twice. */
  const serves = (name: string) =>
    eventually(
      () => nameAt(urlOfLast()).catch(() => undefined),
      (served) => served === name,
    )
  await serves('First')
  for (const name of ['Second', 'Third']) {
    save(name)
    await serves(name)
  }
  // A declaration that does not load ends the service; the next change starts it.
  writeFileSync(file, 'syntax error(')
  writeFileSync(file, service('Fourth'))
  await serves('Fourth')
  mkdirSync(join(cwd, 'resources'))
  run.kill('SIGTERM')
  assert.equal((await run.ended).exit, 0)
  await assert.rejects(fetch(`${urlOfLast()}/`), 'the service ended too')
})

test('a folder without a declaration is a usage error', async (t) => {
  const { exit, stderr } = await gatehook({ cwd: emptyFolder(t) }, 'dev')
  assert.equal(exit, 2)
  assert.match(stderr, /There is no service\.ts in /)
})
