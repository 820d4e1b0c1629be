/**
 * Follows the README and the guides as a reader does: writes their files, runs their curl commands
 * against the real service, and compares the shape of the responses with the pages.
 * `webhooks-guide.test.ts` follows the pages with a receiver, the README among them.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../rig/cleanup.ts'
import { freshUrl } from '../rig/databases.ts'
import { cleanEnv, gatehook, startService } from './process.ts'
import { checkStep, runSteps } from './shell.ts'
import { filesOf, stepsOf } from './snippets.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const referenceService = fileURLToPath(new URL('../../packages/gatehook/service', import.meta.url))
const referenceScopes = ['users:read', 'users:write', 'orders:read', 'orders:write', 'events:read']

before(() => {
  const { error } = spawnSync('curl', ['--version'])
  assert.equal(error, undefined, 'curl is not installed; the commands of the guides need it')
})

async function checkPage(t: TestContext, path: string, folder: string, scopes: readonly string[]) {
  const steps = stepsOf(read(path))
  assert(steps.length > 0, `${path} has no curl command`)
  const { url, key, admin } = await startService(t, folder, scopes)
  const responses = await runSteps(t, steps, { URL: url, KEY: key, ADMIN: admin })
  for (const [at, step] of steps.entries()) checkStep(step, responses[at]!)
}

function writeFiles(folder: string, page: string): void {
  for (const { path, text } of filesOf(page)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

test('README.md: the declaration is valid', async (t) => {
  const folder = emptyFolder(t)
  writeFiles(folder, read('README.md'))
  const document = JSON.parse(await gatehook('openapi', '--dir', folder))
  assert.equal(typeof document.paths['/api/v1/books'], 'object')
})

test('docs/guides/lists.md: the curl commands return the responses of the page', async (t) => {
  await checkPage(t, 'docs/guides/lists.md', referenceService, referenceScopes)
})

test('docs/guides/agents.md: the curl commands return the responses of the page', async (t) => {
  await checkPage(t, 'docs/guides/agents.md', referenceService, referenceScopes)
})

test('docs/guides/people.md: the curl commands return the responses of the page', async (t) => {
  await checkPage(t, 'docs/guides/people.md', referenceService, referenceScopes)
})

test('docs/guides/bulk.md: its service returns the responses of the page', async (t) => {
  const folder = join(emptyFolder(t), 'bulk')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/bulk.md'))
  const scopes = ['parts:read', 'parts:write', 'webhooks:read']
  await checkPage(t, 'docs/guides/bulk.md', folder, scopes)
})

test('docs/guides/names-per-customer.md: its service returns its responses', async (t) => {
  const folder = join(emptyFolder(t), 'names')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/names-per-customer.md'))
  await checkPage(t, 'docs/guides/names-per-customer.md', folder, ['members:read'])
})

test('docs/guides/deleted-rows.md: its service returns the responses of the page', async (t) => {
  const folder = join(emptyFolder(t), 'deleted')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/deleted-rows.md'))
  const scopes = ['pages:read', 'pages:write', 'pages:restore']
  await checkPage(t, 'docs/guides/deleted-rows.md', folder, scopes)
})

test('docs/guides/only-keys.md: its service returns the responses of the page', async (t) => {
  const folder = emptyFolder(t)
  writeFiles(folder, read('docs/guides/only-keys.md'))
  await checkPage(t, 'docs/guides/only-keys.md', join(folder, 'gatehook'), ['reports:read'])
})

test('docs/guides/limits.md: its service returns the responses of the page', async (t) => {
  const folder = join(emptyFolder(t), 'limits')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/limits.md'))
  const scopes = ['sales:read', 'sales:write', 'events:write']
  await checkPage(t, 'docs/guides/limits.md', folder, scopes)
})

/** Installs the packages of a project that `gatehook init` has written, from the checkout. */
function linkPackages(folder: string): void {
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
  symlinkSync(dirname(referenceService), join(folder, 'node_modules/gatehook'))
  symlinkSync(join(modules, '@types/node'), join(folder, 'node_modules/@types/node'))
}

/** Runs a program in a folder, and requires that it succeeds. */
function run(
  folder: string,
  [program, ...args]: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>> = {},
): void {
  // The variable marks a test inside a test runner, which would report to that one.
  const { NODE_TEST_CONTEXT: _, ...env } = { ...cleanEnv(), ...environment }
  const { status, stdout } = spawnSync(program, args, { cwd: folder, env })
  assert.equal(status, 0, String(stdout))
}

const TSC = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url))

const tested = ['testing', 'own-code', 'tutorial', 'recipes'].map(
  (name) => `docs/guides/${name}.md`,
)

for (const page of tested) {
  test(`${page}: its tests pass on both databases, and compile in a project`, async (t) => {
    const folder = join(emptyFolder(t), 'tested')
    await gatehook('init', folder, '--no-pack')
    writeFiles(folder, read(page))
    linkPackages(folder)
    run(folder, [TSC, '--noEmit'])
    const paths = filesOf(read(page)).map(({ path }) => path)
    const tests = paths.filter((path) => path.endsWith('.test.ts'))
    for (const database of ['', await freshUrl(t, 'postgres')]) {
      const environment = database === '' ? {} : { TEST_DATABASE_URL: database }
      run(folder, [process.execPath, '--test', ...tests], environment)
    }
  })
}

test('docs/guides/tutorial.md: its project returns the responses of the page', async (t) => {
  const folder = join(emptyFolder(t), 'invoicing')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/tutorial.md'))
  const names = ['clients', 'invoices', 'payments']
  const scopes = names.flatMap((name) => [`${name}:read`, `${name}:write`])
  await checkPage(t, 'docs/guides/tutorial.md', folder, scopes)
})

test('docs/guides/first-api.md: its project returns the responses of the page', async (t) => {
  const folder = join(emptyFolder(t), 'my-api')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/first-api.md'))
  const scopes = ['books:read', 'books:write', 'events:read']
  await checkPage(t, 'docs/guides/first-api.md', folder, scopes)
})
