/** The drill of `docs/guides/backup.md` runs as written, with paths and a port of the test. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gatehook, jsonOf } from '../../packages/gatehook/test/cli/command.ts'
import { serving } from '../../packages/gatehook/test/cli/process.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { freePort } from '../rig/postgres.ts'
import { cleanEnv } from './process.ts'
import { blocksOf } from './snippets.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAIN = fileURLToPath(new URL('../../packages/gatehook/bin/gatehook.cjs', import.meta.url))

test('a backup passes the drill, and the copy holds what leaves the machine', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const node = await serving(t, place, '--no-seed')
  const folder = emptyFolder(t)
  await jsonOf(place, 'backup', join(folder, 'newest.gatehook'))
  const { stdout: trail } = await gatehook(place, 'audit', 'export')
  writeFileSync(join(folder, 'audit.ndjson'), trail)

  const program = join(folder, 'gatehook')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(program, 0o755)
  const page = readFileSync(join(ROOT, 'docs/guides/backup.md'), 'utf8')
  const drill = blocksOf(page).find(({ text }) => text.includes('/var/tmp/drill'))!.text
  const [copy, port] = [join(folder, 'drill'), await freePort()]
  const commands = drill
    .replaceAll('/var/tmp/drill', copy)
    .replaceAll('/var/lib/gatehook', join(place.cwd, 'data'))
    .replaceAll('/backups', folder)
    .replaceAll('8790', String(port))
  const env = { ...cleanEnv(), PATH: `${folder}:${process.env.PATH}` }
  const { stdout } = await promisify(execFile)('bash', ['-euc', commands], { cwd: folder, env })
  assert.match(stdout, /The master secret fits/)
  assert.match(stdout, /rows verified/)
  assert.match(stdout, /"status":"ready".*"warnings":\[\{"check":"restore"/)
  assert.equal(existsSync(copy), false)
  assert.equal((await fetch(`${node.url}/readyz`)).status, 200, 'the service goes on')
})
