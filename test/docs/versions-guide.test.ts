/** Follows `docs/guides/versions.md` as an operator does, with an administrator's key. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startService } from './process.ts'
import { checkStep, runSteps } from './shell.ts'
import { stepsOf } from './snippets.ts'

const page = readFileSync(new URL('../../docs/guides/versions.md', import.meta.url), 'utf8')
const folder = fileURLToPath(new URL('../../packages/gatehook/service', import.meta.url))

test('docs/guides/versions.md: the curl commands return the responses of the page', async (t) => {
  const steps = stepsOf(page)
  assert(steps.length >= 6)
  const { url, key, admin } = await startService(t, folder, ['users:read'])
  const responses = await runSteps(t, steps, { URL: url, KEY: key, ADMIN: admin })
  for (const [at, step] of steps.entries()) checkStep(step, responses[at]!)
})
