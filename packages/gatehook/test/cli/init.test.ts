/** `init` writes a project that starts at once, before dependencies are installed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { gatehook } from './command.ts'
import { serving } from './process.ts'

const ENGINE = fileURLToPath(new URL('../..', import.meta.url))

test('the project starts with the running engine', async (t) => {
  const cwd = emptyFolder(t)
  const written = await gatehook({ cwd }, 'init', 'My API', '--no-pack')
  assert.equal(written.exit, 0, written.stderr)
  const project = join(cwd, 'My API')
  assert.equal(existsSync(join(project, 'node_modules')), false)
  const key = generateApiKey(systemRandom(), 'live')
  const place = { cwd: project, env: { GATEHOOK_BOOTSTRAP_KEY: key } }
  const { url, kill, ended } = await serving(t, place, '--no-seed')
  const root = await fetch(`${url}/`, { headers: { accept: 'application/json' } })
  assert.match(await root.text(), /my-api/, 'its own service, not the reference service')
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

test('package.json has the scripts', async (t) => {
  const cwd = emptyFolder(t)
  await gatehook({ cwd }, 'init', 'api', '--no-pack')
  const read = (name: string) => readFileSync(join(cwd, 'api', name), 'utf8')
  const { name, scripts, dependencies, type, engines } = JSON.parse(read('package.json'))
  assert.deepEqual([name, type, scripts.start], ['api', 'module', 'gatehook start'])
  assert.equal(scripts.dev, 'gatehook dev')
  assert.match(scripts.test, /gatehook check/)
  assert.equal((await gatehook({ cwd: join(cwd, 'api') }, 'check')).exit, 0, 'as npm test does')
  const { version, engines: own } = JSON.parse(readFileSync(join(ENGINE, 'package.json'), 'utf8'))
  assert.deepEqual([dependencies.gatehook, engines.node], [`^${version}`, own.node])
  assert.equal(existsSync(join(cwd, 'api', 'vendor')), false)
  assert.doesNotMatch(read('Dockerfile'), /vendor/)
  assert.match(read('service.ts'), /name: 'api'/)
  assert.match(read('.gitignore'), /^\/data\/$/m)
  assert.match(read('README.md'), /^# api\n/)
})

test('an unpublished version is packed into the project', async (t) => {
  const cwd = emptyFolder(t)
  const { exit, stdout, stderr } = await gatehook({ cwd }, 'init', 'api')
  assert.equal(exit, 0, stderr)
  const read = (name: string) => readFileSync(join(cwd, 'api', name), 'utf8')
  const { gatehook: engine } = JSON.parse(read('package.json')).dependencies
  assert.match(engine, /^file:vendor\/gatehook-.*\.tgz$/)
  assert.ok(existsSync(join(cwd, 'api', engine.replace('file:', ''))))
  assert.match(stdout, /Its dependency is file:vendor\/\S+: this version is not in the registry/)
  assert.match(read('Dockerfile'), /^COPY vendor \.\/vendor$/m)
  assert.match(read('compose.yaml'), /^ {4}build: \.$/m)
})

test('its test passes when the engine is installed', async (t) => {
  const cwd = emptyFolder(t)
  await gatehook({ cwd }, 'init', '--no-pack')
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(ENGINE, join(cwd, 'node_modules', 'gatehook'))
  const env = { PATH: process.env.PATH }
  const runTests = () => promisify(execFile)(process.execPath, ['--test'], { cwd, env })
  assert.match((await runTests()).stdout, /pass 2\n/)
  const file = join(cwd, 'resources', 'orders.ts')
  const declaration = readFileSync(file, 'utf8')
  const withoutSample = declaration.replace(/\n {2}\.sample\(.*?\}\)\)/s, '')
  assert.notEqual(withoutSample, declaration)
  writeFileSync(file, withoutSample)
  assert.match((await runTests()).stdout, /pass 2\n/, 'also for a resource without samples')
})

test('init adds to a folder with a package.json and changes no other file', async (t) => {
  const cwd = emptyFolder(t)
  const existing = {
    name: 'mine',
    version: '3.2.1',
    scripts: { test: 'jest', lint: 'eslint .' },
    dependencies: { left: '1.0.0' },
  }
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(existing))
  writeFileSync(join(cwd, 'README.md'), 'mine')
  const { exit, stdout, stderr } = await gatehook({ cwd }, 'init', '--no-pack')
  assert.equal(exit, 0, stderr)
  const merged = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))
  assert.deepEqual([merged.name, merged.version, merged.type], ['mine', '3.2.1', 'module'])
  assert.deepEqual([merged.scripts.test, merged.scripts.lint], ['jest', 'eslint .'])
  assert.equal(merged.scripts.start, 'gatehook start')
  assert.deepEqual(Object.keys(merged.dependencies), ['left', 'gatehook'])
  assert.equal(merged.private, undefined)
  assert.equal(readFileSync(join(cwd, 'README.md'), 'utf8'), 'mine')
  assert.match(stdout, /Left unchanged: README\.md, the script "test"\./)
  assert.match(readFileSync(join(cwd, 'service.ts'), 'utf8'), /name: 'mine'/)
  const again = await gatehook({ cwd }, 'init', '--no-pack')
  assert.equal(again.exit, 2)
  assert.match(again.stderr, /already has .*service\.ts; nothing was written/)
})

test('the folder of npm init and npm install node has one Node and a test', async (t) => {
  const cwd = emptyFolder(t)
  const existing = {
    scripts: { test: 'echo "Error: no test specified" && exit 1' },
    dependencies: { node: '^26.1.0' },
  }
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(existing))
  const { stdout } = await gatehook({ cwd }, 'init', '--no-pack')
  assert.doesNotMatch(stdout, /Left unchanged/)
  const merged = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))
  assert.match(merged.scripts.test, /^gatehook check && /)
  assert.deepEqual(Object.keys(merged.dependencies), ['gatehook'])
  assert.deepEqual(merged.optionalDependencies, { node: '^26.1.0' })
})

test('an unreadable package.json is a usage error, and no file is written', async (t) => {
  for (const text of ['{', '[]', 'null']) {
    const cwd = emptyFolder(t)
    writeFileSync(join(cwd, 'package.json'), text)
    const { exit, stderr } = await gatehook({ cwd }, 'init', '--no-pack')
    assert.equal(exit, 2)
    assert.match(stderr, /package\.json (cannot be read|is not a JSON object)/)
    assert.equal(existsSync(join(cwd, 'service.ts')), false)
  }
})

test('no file is overwritten, and no other file is written', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'README.md'), 'mine')
  const { exit, stderr } = await gatehook({ cwd }, 'init')
  assert.equal(exit, 2)
  assert.match(stderr, /already has README\.md; nothing was written/)
  assert.equal(readFileSync(join(cwd, 'README.md'), 'utf8'), 'mine')
  assert.equal(existsSync(join(cwd, 'service.ts')), false)
})

test('init refuses a project of CommonJS modules, and changes nothing', async (t) => {
  const cwd = emptyFolder(t)
  const text = JSON.stringify({ name: 'mine', type: 'commonjs' })
  writeFileSync(join(cwd, 'package.json'), text)
  const { exit, stderr } = await gatehook({ cwd }, 'init', '--no-pack')
  assert.equal(exit, 2)
  assert.match(stderr, /has "type": "commonjs".* nothing was written/)
  assert.equal(readFileSync(join(cwd, 'package.json'), 'utf8'), text)
  assert.equal(existsSync(join(cwd, 'service.ts')), false)
})
