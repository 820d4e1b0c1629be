/**
 * The README and the guides are done as a reader does them: the files they show are written, the
 * curl lines are run against the real service, and what they show of the answers has the answers'
 * shape.
 */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cleanEnv, freshFolder, gatehook, startService } from './process.ts'
import { differences, filesOf, promisedStatus, type Step, stepsOf } from './snippets.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const referenceService = fileURLToPath(new URL('../../packages/gatehook/service', import.meta.url))
const referenceScopes = ['users:read', 'users:write', 'orders:read', 'orders:write', 'events:read']

before(() => {
  const { error } = spawnSync('curl', ['--version'])
  assert.equal(error, undefined, 'curl is not installed; the lines of the guides are run with it')
})

/**
 * Every call leaves its head and its body behind; `marks` says how many there were after each step.
 */
const PRELUDE = `set -euo pipefail
curl() {
  local n; n=$(printf '%04d' "$(find "$OUT" -name '*.head' | wc -l)")
  command curl -sS -D "$OUT/$n.head" -o "$OUT/$n.body" "$@"
  cat "$OUT/$n.body"
}
mark() { find "$OUT" -name '*.head' | wc -l >> "$OUT/marks"; }
`

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Runs a page's steps in one shell, so that variables live on; gives each step's answers. */
async function run(t: TestContext, steps: readonly Step[], url: string, key: string) {
  const out = await freshFolder(t)
  const script = PRELUDE + steps.map((step) => `${step.script}\nmark\n`).join('')
  const env = { ...cleanEnv(), OUT: out, URL: url, KEY: key }
  await promisify(execFile)('bash', ['-c', script], { env })
  const ends = readFileSync(join(out, 'marks'), 'utf8').trim().split('\n').map(Number)
  return ends.map((end, at) =>
    Array.from({ length: end - (ends[at - 1] ?? 0) }, (_, n) =>
      answerOf(join(out, String((ends[at - 1] ?? 0) + n).padStart(4, '0'))),
    ),
  )
}

function answerOf(path: string): Answer {
  const head = readFileSync(`${path}.head`, 'utf8')
  // With `-i` curl writes the head before the body, too.
  const body = readFileSync(`${path}.body`, 'utf8').replace(head, '')
  return { status: Number(/^HTTP\/\S+ (\d+)/.exec(head)?.[1]), head, body }
}

function checkStep(step: Step, answers: readonly Answer[]): void {
  const last = answers.at(-1)
  assert(last, `no curl ran in:\n${step.script}`)
  for (const answer of answers) {
    const promised: number | undefined = answer === last ? promisedStatus(step.json) : undefined
    const fits: boolean =
      promised === undefined ? /^2/.test(`${answer.status}`) : answer.status === promised
    assert(fits, `${answer.status} instead of ${promised ?? '2xx'}:\n${step.script}${answer.body}`)
  }
  for (const name of step.headers) {
    assert.match(last.head.toLowerCase(), new RegExp(`^${name}:`, 'm'), step.script)
  }
  if (step.json === undefined) return
  assert.deepEqual(differences(step.json, JSON.parse(last.body)), [], step.script)
}

async function checkPage(t: TestContext, path: string, folder: string, scopes: readonly string[]) {
  const steps = stepsOf(read(path))
  assert(steps.length > 0, `${path} has no curl line`)
  const { url, key } = await startService(t, folder, scopes)
  const answers = await run(t, steps, url, key)
  for (const [at, step] of steps.entries()) checkStep(step, answers[at]!)
}

function writeFiles(folder: string, page: string): void {
  for (const { path, text } of filesOf(page)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

test('README.md: the curl lines answer as shown', async (t) => {
  await checkPage(t, 'README.md', referenceService, referenceScopes)
})

test('README.md: the declaration is one', async (t) => {
  const folder = await freshFolder(t)
  writeFiles(folder, read('README.md'))
  const document = JSON.parse(await gatehook('openapi', '--dir', folder))
  assert.equal(typeof document.paths['/api/v1/books'], 'object')
})

test('docs/guides/lists.md: the curl lines answer as shown', async (t) => {
  await checkPage(t, 'docs/guides/lists.md', referenceService, referenceScopes)
})

test('docs/guides/first-api.md: the project it makes answers as shown', async (t) => {
  const folder = join(await freshFolder(t), 'my-api')
  await gatehook('init', folder)
  writeFiles(folder, read('docs/guides/first-api.md'))
  const scopes = ['books:read', 'books:write', 'events:read']
  await checkPage(t, 'docs/guides/first-api.md', folder, scopes)
})
