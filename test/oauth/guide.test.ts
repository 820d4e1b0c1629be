/**
 * Runs the shell blocks of `docs/guides/oauth.md` in one shell against the real program. A browser
 * opens the link of the page.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cleanEnv, startService } from '../docs/process.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { authorizeInBrowser } from './browser.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('../../packages/gatehook/bin/gatehook.cjs', import.meta.url))
const SERVICE = fileURLToPath(new URL('../../packages/gatehook/service', import.meta.url))
const page = readFileSync(new URL('../../docs/guides/oauth.md', import.meta.url), 'utf8')

/** Lets the commands of the page call this checkout. */
const PRELUDE = `set -euo pipefail
npx() { shift; ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "$@"; }
curl() { command curl -sS --fail-with-body "$@"; echo >&2; }
`
const CODE_BLOCK = 'CODE=…'

test('the commands of the guide lead from a client to a refreshed token', async (t) => {
  const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text!)
  assert.match(blocks[0]!, /^URL=/)
  const codeBlock = blocks.findIndex((text) => text.trim() === CODE_BLOCK)
  assert(codeBlock > 0, 'the block that needs a browser exists')
  const folder = emptyFolder(t)
  const database = { GATEHOOK_DATABASE_URL: `sqlite:${folder}/gatehook.db` }
  const serviceEnv = { ...database, GATEHOOK_SECRET_KEY: 'a secret that both processes know' }
  const { url } = await startService(t, SERVICE, [], serviceEnv)
  const shell = async (script: string) => {
    const env = { ...cleanEnv(), ...serviceEnv, URL: url }
    return (await run('bash', ['-c', PRELUDE + script], { cwd: folder, env })).stdout
  }
  const before = blocks.slice(1, codeBlock).join('\n')
  const variables = `${folder}/variables`
  const save = `\ndeclare -p REDIRECT VERIFIER CLIENT_ID CLIENT_SECRET > ${variables}\n`
  const link = (await shell(before + save)).trim().split('\n').at(-1)!
  const credentials = { username: 'ada@example.com', password: 'correct horse battery' }
  const back = await authorizeInBrowser(new URL(link), credentials)
  assert.equal(back.searchParams.get('state'), 'whatever-you-like')
  const code = `CODE=${back.searchParams.get('code')}\n`
  const output = await shell(`. ${variables}\n${code}${blocks.slice(codeBlock + 1).join('\n')}`)
  assert.match(output, /"scope":"orders:read","refresh_token"/)
  assert.match(output, /"status":"ok","user":"\d+"/)
  assert.match(output, /"data":\[/)
  assert.match(output, /"token_type":"Bearer","expires_in":900,"scope":"orders:read"}\s*$/)
})
