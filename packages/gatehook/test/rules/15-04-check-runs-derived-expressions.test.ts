/** §15.4: `gatehook check` reports an expression of a derived field that a start would reject. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook } from '../cli/command.ts'

const declare = (first: string, second: string) => `import { f, resource, service } from 'gatehook'
export const api = service({
  name: 'Shops',
  versions: { v1: { released: '2026-01-01' } },
  resources: [resource('shops', {
    fields: {
      id: f.id(),
      price: f.int(),
      count: f.int(),
      total: f.derived(f.int(), ${first}),
      half: f.derived(f.int(), ${second}),
    },
    list: { filter: [], sort: [] },
    access: { read: 'shops:read', create: 'shops:write', update: false, delete: false },
    events: [],
  })],
})
`
const VALID = `'price * count'`
const REJECTED = [`'price * * count'`, `'nofunction(price)'`, `'random()'`]

test('check names the place of each expression that SQLite rejects', async (t) => {
  const folder = emptyFolder(t)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const check = async (first: string, second: string) => {
    writeFileSync(join(folder, 'service.ts'), declare(first, second))
    await gatehook({ cwd: folder }, 'check', '--update')
    const { exit, stdout } = await gatehook({ cwd: folder }, 'check', '--json')
    return { exit, mistakes: JSON.parse(stdout).sql.mistakes as string[] }
  }
  const valid = await check(VALID, `{ sqlite: 'price / 2', postgres: 'price::int / 2' }`)
  assert.deepEqual(valid, { exit: 0, mistakes: [] })
  for (const expression of REJECTED) {
    const { exit, mistakes } = await check(VALID, expression)
    assert.deepEqual([exit, mistakes.length], [1, 1], expression)
    assert.match(mistakes[0]!, /service\.ts:\d+: .*field half: sqlite rejects the expression/)
  }
  const both = await check(REJECTED[0]!, REJECTED[1]!)
  assert.equal(both.mistakes.length, 2)
})
