/** §18.4: a removed file beside a SQLite database is named while its node goes on. */
import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { createBesideFileCheck } from '../../src/operate/system/beside-files.ts'

const advices: Readonly<Record<string, RegExp>> = {
  'secret.key': /^secret\.key was removed: copy it back from a backup, .*The master secret is lost/,
  'gatehook.db.lock': /^gatehook\.db\.lock was removed: .*a second start is not refused/,
  'gatehook.db.mark': /^gatehook\.db\.mark was removed: .* gatehook restore release\.$/,
}

test('files that were there at the start are named until they are back', async (t) => {
  const file = (await freshUrl(t, 'sqlite')).replace(/^sqlite:/, '')
  const folder = dirname(file)
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  const places = { file: join(folder, 'gatehook.db'), secretFile: join(folder, 'secret.key') }
  const none = createBesideFileCheck({ ...places, clock, log: quietLog })
  for (const name of Object.keys(advices)) writeFileSync(join(folder, name), 'x')
  const { warning, metrics } = createBesideFileCheck({ ...places, clock, log: quietLog })
  const count = async () => (await metrics[0]!.read())[0]?.value
  assert.equal(await none.warning(), undefined, 'a node that started without them')
  for (const [name, advice] of Object.entries(advices)) {
    const path = join(folder, name)
    assert.deepEqual([await warning(), await count()], [undefined, 0])
    renameSync(path, `${path}.away`)
    clock.ms += 5_000
    const result = await warning()
    assert.ok(typeof result === 'object')
    assert.match(result.detail, advice)
    assert.ok(!result.message.includes(name), 'a name is for operators')
    assert.equal(await count(), 1)
    renameSync(`${path}.away`, path)
    clock.ms += 5_000
  }
})

test('a service names its lost mark', async (t) => {
  const url = await freshUrl(t, 'sqlite')
  const mark = `${url.replace(/^sqlite:/, '')}.mark`
  writeFileSync(mark, '1\n')
  const service = await openService(t, 'sqlite', { url })
  renameSync(mark, `${mark}.away`)
  const { body } = await service.as(undefined).get('/readyz')
  assert.deepEqual(
    body.warnings.map(({ check }: { check: string }) => check),
    ['beside_files'],
  )
})
