/** `init` writes a project that starts at once, in a folder where nothing is installed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { formatKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { emptyFolder, gatehook, serving } from './process.ts'

test('the project starts and answers, with the engine that runs it', async (t) => {
  const cwd = emptyFolder(t)
  const written = await gatehook({ cwd }, 'init', 'My API')
  assert.equal(written.exit, 0, written.stderr)
  const project = join(cwd, 'My API')
  assert.equal(existsSync(join(project, 'node_modules')), false)
  const key = formatKey(systemRandom(), 'live')
  const place = { cwd: project, env: { GATEHOOK_BOOTSTRAP_KEY: key } }
  const { url, kill, ended } = await serving(t, place, '--no-seed')
  const root = await fetch(`${url}/`, { headers: { accept: 'application/json' } })
  assert.match(await root.text(), /my-api/, 'its own service, not the reference')
  const declared = JSON.parse((await gatehook(place, 'openapi')).stdout)
  const list = Object.keys(declared.paths).find(
    (path) => declared.paths[path].post && /^\/api\/v2\/\w+$/.test(path),
  )
  const answer = await fetch(url + list, { headers: { 'x-api-key': key } })
  assert.equal(answer.status, 200)
  assert.deepEqual(((await answer.json()) as { data: unknown }).data, [])
  kill('SIGTERM')
  assert.equal((await ended).exit, 0)
})

test('package.json runs what init promises', async (t) => {
  const cwd = emptyFolder(t)
  await gatehook({ cwd }, 'init', 'api')
  const read = (name: string) => readFileSync(join(cwd, 'api', name), 'utf8')
  const { name, scripts, dependencies, type } = JSON.parse(read('package.json'))
  assert.deepEqual([name, type, scripts.start], ['api', 'module', 'gatehook start'])
  assert.match(scripts.test, /gatehook check/)
  assert.equal((await gatehook({ cwd: join(cwd, 'api') }, 'check')).exit, 0, 'as npm test does')
  // From a checkout it uses the checkout, from wherever the project lies.
  const engine = join(cwd, 'api', dependencies.gatehook.replace(/^file:/, ''), 'package.json')
  assert.equal(JSON.parse(readFileSync(engine, 'utf8')).name, 'gatehook')
  assert.match(read('service.ts'), /name: 'api'/)
  assert.match(read('.gitignore'), /^\/data\/$/m)
  assert.match(read('README.md'), /^# api\n/)
})

test('its own test passes once the engine is installed', async (t) => {
  const cwd = emptyFolder(t)
  await gatehook({ cwd }, 'init')
  mkdirSync(join(cwd, 'node_modules'))
  const engine = fileURLToPath(new URL('../..', import.meta.url))
  symlinkSync(engine, join(cwd, 'node_modules', 'gatehook'))
  const env = { PATH: process.env.PATH }
  const { stdout } = await promisify(execFile)(process.execPath, ['--test'], { cwd, env })
  assert.match(stdout, /pass 1\n/)
})

test('nothing is overwritten, and nothing is written beside it', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'README.md'), 'mine')
  const { exit, stderr } = await gatehook({ cwd }, 'init')
  assert.equal(exit, 2)
  assert.match(stderr, /already has README\.md; nothing was written/)
  assert.equal(readFileSync(join(cwd, 'README.md'), 'utf8'), 'mine')
  assert.equal(existsSync(join(cwd, 'service.ts')), false)
})
