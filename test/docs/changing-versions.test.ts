/**
 * Verifies docs/guides/versions.md on changing the API: its service compiles and is served in three
 * versions, and its output of `gatehook check` is that of the command.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { gatehook } from '../../packages/gatehook/test/cli/command.ts'
import { copyOfService } from '../../packages/gatehook/test/gate/service-copy.ts'
import { filesOf } from './snippets.ts'

const page = readFileSync(new URL('../../docs/guides/versions.md', import.meta.url), 'utf8')

test('the service of three versions compiles, and its shapes satisfy the invariant', async (t) => {
  const copy = copyOfService(t, { empty: true })
  const files = filesOf(page)
  assert.deepEqual(
    files.map(({ path }) => path),
    ['resources/parcels.ts', 'service.ts'],
  )
  for (const { path, text } of files) {
    mkdirSync(dirname(join(copy.folder, path)), { recursive: true })
    writeFileSync(join(copy.folder, path), text)
  }
  assert.deepEqual(await copy.compile(), [])
  const members = async (version: string) => {
    const { stdout } = await gatehook({ cwd: copy.folder }, 'openapi', '--version', version)
    return Object.keys(JSON.parse(stdout).components.schemas.Parcel.properties).join(' ')
  }
  assert.equal(await members('v3'), 'id status weight_g street city email')
  assert.equal(await members('v2'), 'id status weight_kg street city email')
  assert.equal(await members('v1'), 'id status weight_kg address mail')
  copy.edit('resources/parcels.ts', [
    "row.status === 'held' ? 'packed' : row.status",
    'row.status as never',
  ])
  const { stderr } = await gatehook({ cwd: copy.folder }, 'openapi')
  const documentedError = /`(v2 would show [^`]*)`/.exec(page)?.[1]
  assert.ok(documentedError && stderr.includes(documentedError), stderr)
})

test('the page quotes the findings of the gate for a renamed field', async (t) => {
  const copy = copyOfService(t)
  copy.edit(
    'resources/users.ts',
    ['    name: f.string', '    full_name: f.string'],
    ["'name', 'email'", "'full_name', 'email'"],
    ['return { name,', 'return { full_name: name,'],
    ["fields: ['name']", "fields: ['full_name']"],
  )
  const { exit, stdout } = await gatehook({ cwd: copy.folder }, 'check')
  assert.equal(exit, 1)
  const block = /```text\n(✗ This change[\s\S]*?)```/.exec(page)?.[1]
  const undated = (text: string | undefined) =>
    text?.replace(/released: '[\d-]+'/, 'released: …').trim()
  assert.equal(undated(block), undated(stdout))
})
