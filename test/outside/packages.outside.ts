/**
 * `npm run test:outside`: the packages, installed from tarballs in an empty folder, type-checked,
 * started, called and bundled. Needs a package registry.
 */
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { kilobytes } from '../../build/pack.ts'
import {
  closeStage,
  environment,
  npm,
  openStage,
  output,
  type RunningService,
  type Stage,
  startService,
} from './stage.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const MAJORS = ['24', '26'] as const

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => closeStage(stage))

const tool = (name: string, ...args: string[]) =>
  output(
    stage.project,
    environment(stage.nodes[26]),
    join(stage.tools, 'node_modules/.bin', name),
    ...args,
  )

test('tarballs contain the required files and no tests', () => {
  assert.equal(stage.tarballs.length, 4)
  for (const { name, files } of stage.tarballs) {
    for (const path of ['README.md', 'LICENSE', 'package.json']) {
      assert.ok(files.includes(path), `${name} has no ${path}`)
    }
    // The template of a project contains the test of that project, and the alerts their own.
    const own = files.filter((path) => !/^(template|deploy\/prometheus)\//.test(path))
    const unexpected = own.filter((path) => /\.test\.|^(src|test|example)\//.test(path))
    assert.deepEqual(unexpected, [], name)
  }
})

/** Reads a cell of the README's table of sizes. */
function statedKilobytes(row: string, column: number): number {
  const [, cells] = new RegExp(`^\\| \`${row}\` \\|(.*)$`, 'm').exec(readme) ?? []
  assert.ok(cells, `the README states no size of ${row}`)
  const [, size] = /(\d+) kB/.exec(cells.split('|')[column] ?? '') ?? []
  return Number(size)
}

/** Asserts a size within 20 % and 1 kB of the README's. */
function assertStated(row: string, column: number, bytes: number): void {
  const stated = statedKilobytes(row, column)
  const off = Math.abs(stated - bytes / 1000)
  assert.ok(off <= stated / 5 + 1, `${row}: ${kilobytes(bytes)}; the README states ${stated} kB`)
}

test('the README states the sizes of the tarballs', () => {
  for (const { name, size } of stage.tarballs) assertStated(name, 0, size)
})

test('publint and arethetypeswrong report no problem', async () => {
  for (const { name, file } of stage.tarballs) {
    await tool('publint', '--strict', join('node_modules', name))
    if (name === 'create-gatehook') continue // a program; nothing imports it
    await tool('attw', file, '--profile', 'esm-only', '--no-color')
  }
})

const STRICT =
  '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess ' +
  '--noPropertyAccessFromIndexSignature --skipLibCheck false --target es2023 ' +
  '--lib esnext,dom,dom.iterable'
const RESOLUTIONS = ['nodenext', 'bundler'] as const
const resolution = (name: (typeof RESOLUTIONS)[number]) => [
  '--module',
  name === 'bundler' ? 'esnext' : name,
  '--moduleResolution',
  name,
]

test('a strict compiler accepts declaration and callers, and rejects a typo', async () => {
  const service = readFileSync(join(stage.project, 'service.ts'), 'utf8')
  const wrong = service.replace("sort: ['title',", "sort: ['tilte',")
  assert.notEqual(wrong, service)
  writeFileSync(join(stage.project, 'wrong.ts'), wrong)
  const app = "import { openApp } from 'gatehook/app'\nexport const app: unknown = openApp\n"
  writeFileSync(join(stage.project, 'opens.ts'), app)
  for (const name of RESOLUTIONS) {
    const options = [...STRICT.split(' '), ...resolution(name)]
    await tool('tsc', ...options, '--types', 'node', 'service.ts', 'calls.ts', 'opens.ts')
    // A declaration needs no types of Node.
    await tool('tsc', ...options, '--types', '', 'service.ts')
    await assert.rejects(tool('tsc', ...options, '--types', 'node', 'wrong.ts'), /tilte/)
  }
})

for (const major of MAJORS) {
  test(`Node ${major}: serves requests and sends a signed webhook`, async () => {
    const env = environment(stage.nodes[major])
    const version = await output(stage.project, env, 'node', '--version')
    assert.match(version, new RegExp(`^v${major}\\.`))
    const { version: own } = JSON.parse(
      readFileSync(join(stage.project, 'node_modules/gatehook/package.json'), 'utf8'),
    )
    assert.equal(await output(stage.project, env, 'npx', 'gatehook', '--version'), `${own}\n`)
    const running = await startService(stage.project, stage.nodes[major])
    const variables = { GATEHOOK_URL: running.url, GATEHOOK_KEY: running.key }
    const printed = await output(stage.project, { ...env, ...variables }, 'node', 'calls.ts')
    const { node, ...results } = JSON.parse(printed)
    assert.match(node, new RegExp(`^${major}\\.`))
    assert.deepEqual(results, {
      status: 'out',
      rejected: [409, 'invalid_state'],
      titles: ['Solaris'],
      event: ['book.lent', 'Solaris'],
    })
    assert.equal(await running.stop(), 0)
  })
}

test('doctor classifies each Node version', async () => {
  for (const [major, state] of [
    ['24', 'warn'],
    ['26', 'ok'],
  ] as const) {
    const env = environment(stage.nodes[major])
    const printed = await output(stage.project, env, 'npx', 'gatehook', 'doctor', '--json')
    const { checks } = JSON.parse(printed) as { checks: { check: string; state: string }[] }
    assert.equal(checks.find(({ check }) => check === 'node')?.state, state)
  }
})

test('bundles for browsers have the sizes of the README', async (t) => {
  for (const name of ['gatehook-client', 'gatehook-receiver']) {
    const source = join(stage.project, `${name}.bundle.mjs`)
    writeFileSync(source, `export * from '${name}'\n`)
    const words = ['--bundle', '--minify', '--format=esm', '--platform=browser', '--target=es2022']
    const bundle = await tool('esbuild', source, ...words)
    const bytes = gzipSync(bundle).length
    t.diagnostic(`${name}: ${kilobytes(bundle.length)}, ${kilobytes(bytes)} compressed`)
    assert.doesNotMatch(bundle, /\bnode:|\brequire\(/)
    assertStated(name, 1, bundle.length)
    assertStated(name, 2, bytes)
  }
})

const RUNTIMES = {
  deno: ['deno', 'run', '--allow-net', '--allow-env', '--allow-read'],
  bun: ['bun', 'run'],
  'Node 20': ['../node20/bin/node'],
}

for (const [name, [program = '', ...words]] of Object.entries(RUNTIMES)) {
  test(`client and receiver work in ${name}`, async () => {
    const running: RunningService = await startService(stage.project, stage.nodes[26])
    const printed = await tool(program, ...words, 'runtimes.mjs', running.url, running.key)
    // Live mode is empty; a repeated delivery is handled once, a forged one rejected.
    const expected = { books: 0, events: ['book.lent'], statuses: [200, 200, 400] }
    assert.deepEqual(JSON.parse(printed), expected)
    await running.stop()
  })
}

test('gatehook init creates a project that works after it was moved', async () => {
  const env = environment(stage.nodes[26])
  const created = join(stage.root, 'made')
  await output(stage.project, env, 'npx', 'gatehook', 'init', created)
  const moved = join(stage.root, 'elsewhere', 'moved')
  cpSync(created, moved, { recursive: true })
  rmSync(created, { recursive: true })
  await npm(moved, stage.nodes[26], 'install')
  await output(moved, env, 'npm', 'test')
  await output(moved, env, 'npm', 'run', 'types')
  const running = await startService(moved, stage.nodes[26])
  assert.equal((await fetch(`${running.url}/readyz`)).status, 200)
  assert.equal(await running.stop(), 0)
})

test('on Node 20 two tarballs create a project, which brings its own Node', async () => {
  const node20 = stage.nodes[20]
  const empty = join(stage.root, 'empty')
  mkdirSync(empty)
  const files = stage.tarballs
    .filter(({ name }) => name === 'gatehook' || name === 'create-gatehook')
    .map(({ file }) => file)
  await npm(empty, node20, 'install', ...files)
  const env = environment(node20)
  assert.match(await output(empty, env, 'npx', 'create-gatehook', 'my-api'), /my-api is written/)
  const created = join(empty, 'my-api')
  for (const name of ['package.json', 'service.ts', 'service.test.ts', 'Dockerfile', 'vendor']) {
    assert.ok(existsSync(join(created, name)), name)
  }
  await npm(created, node20, 'install')
  await output(created, env, 'npm', 'test')
  assert.ok(existsSync(join(created, 'node_modules/gatehook/docs/guides/first-api.md')))
})

/** Yarn's Plug'n'Play keeps packages as archives, and replaces parts of `node:fs` to read them. */
test('Yarn with Plug’n’Play starts the service', async () => {
  const project = join(stage.root, 'plugnplay')
  mkdirSync(project)
  const { file } = stage.tarballs.find(({ name }) => name === 'gatehook')!
  const manifest = { name: 'plugnplay', type: 'module', dependencies: { gatehook: `file:${file}` } }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(project, 'yarn.lock'), '') // or Yarn takes a folder above for the project
  writeFileSync(join(project, '.yarnrc.yml'), 'enableGlobalCache: false\nenableTelemetry: false\n')
  cpSync(join(stage.project, 'service.ts'), join(project, 'service.ts'))
  const yarn = join(stage.tools, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js')
  const env = environment(stage.nodes[26], { YARN_ENABLE_IMMUTABLE_INSTALLS: 'false' })
  await output(project, env, 'node', yarn, 'install')
  const running = await startService(project, stage.nodes[26], ['node', yarn, 'gatehook'])
  assert.equal((await fetch(`${running.url}/readyz`)).status, 200)
  await running.stop()
})
