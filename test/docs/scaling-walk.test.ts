/** The commands of `docs/guides/scaling-walk.md` are valid, and name what exists. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { options } from '../../packages/gatehook/src/platform/config/options.ts'
import { blocksOf } from './snippets.ts'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'docs/guides/scaling-walk.md'), 'utf8')
const script = blocksOf(page)
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text)
  .join('\n')

test('bash can parse the blocks in their order', () => {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})

test('options of the walk exist', () => {
  const names = Object.values(options).map(({ env }) => String(env))
  const used = [...new Set(script.match(/GATEHOOK_\w+/g))]
  assert.deepEqual(
    used.filter((name) => !names.includes(name)),
    [],
  )
  assert.ok(used.length > 6)
})

test('the change of the walk applies to the reference service', () => {
  const sed = /<<'END'\n(s\/.*?)\nEND/s.exec(script)?.[1]
  assert.ok(sed)
  const file = join(ROOT, 'packages/gatehook/service/resources/orders.ts')
  assert.ok(existsSync(file))
  const { stdout } = spawnSync('sed', [sed, file], { encoding: 'utf8' })
  for (const text of ['channel: f.string()', "'price',", "search: ['note']", ".compute('price'"]) {
    assert.ok(stdout.includes(text), text)
  }
})
