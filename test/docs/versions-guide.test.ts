/** `docs/guides/versions.md` is done as an operator does it, with a key of theirs besides. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startService } from './process.ts'
import { checkStep, run } from './shell.ts'
import { stepsOf } from './snippets.ts'

const page = readFileSync(new URL('../../docs/guides/versions.md', import.meta.url), 'utf8')
const folder = fileURLToPath(new URL('../../packages/gatehook/service', import.meta.url))

test('docs/guides/versions.md: the curl lines answer as shown', async (t) => {
  const steps = stepsOf(page)
  assert(steps.length >= 6)
  const { url, key, admin } = await startService(t, folder, ['users:read'])
  const answers = await run(t, steps, { URL: url, KEY: key, ADMIN: admin })
  for (const [at, step] of steps.entries()) checkStep(step, answers[at]!)
})
