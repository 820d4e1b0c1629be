/**
 * Follows the README and the guides as a reader does: writes their files, runs their curl commands
 * against the real service, and compares the shape of the responses with the pages.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../rig/cleanup.ts'
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

test('README.md: the curl commands return the responses of the page', async (t) => {
  await checkPage(t, 'README.md', referenceService, referenceScopes)
})

test('README.md: the declaration is valid', async (t) => {
  const folder = emptyFolder(t)
  writeFiles(folder, read('README.md'))
  const document = JSON.parse(await gatehook('openapi', '--dir', folder))
  assert.equal(typeof document.paths['/api/v1/books'], 'object')
})

test('docs/guides/lists.md: the curl commands return the responses of the page', async (t) => {
  await checkPage(t, 'docs/guides/lists.md', referenceService, referenceScopes)
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

test('docs/guides/deleted-rows.md: its service returns the responses of the page', async (t) => {
  const folder = join(emptyFolder(t), 'deleted')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/deleted-rows.md'))
  const scopes = ['pages:read', 'pages:write', 'pages:restore']
  await checkPage(t, 'docs/guides/deleted-rows.md', folder, scopes)
})

test('docs/guides/limits.md: its service returns the responses of the page', async (t) => {
  const folder = join(emptyFolder(t), 'limits')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/limits.md'))
  const scopes = ['sales:read', 'sales:write', 'events:write']
  await checkPage(t, 'docs/guides/limits.md', folder, scopes)
})

for (const page of ['docs/guides/testing.md', 'docs/guides/own-code.md']) {
  test(`${page}: its tests pass`, async (t) => {
    const folder = emptyFolder(t)
    writeFiles(folder, read(page))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(dirname(referenceService), join(folder, 'node_modules/gatehook'))
    // The variable marks a test inside a test runner, which would report to that one.
    const { NODE_TEST_CONTEXT: _, ...env } = cleanEnv()
    const { status, stdout } = spawnSync(process.execPath, ['--test'], { cwd: folder, env })
    assert.equal(status, 0, String(stdout))
  })
}

test('docs/guides/first-api.md: its project returns the responses of the page', async (t) => {
  const folder = join(emptyFolder(t), 'my-api')
  await gatehook('init', folder, '--no-pack')
  writeFiles(folder, read('docs/guides/first-api.md'))
  const scopes = ['books:read', 'books:write', 'events:read']
  await checkPage(t, 'docs/guides/first-api.md', folder, scopes)
})
