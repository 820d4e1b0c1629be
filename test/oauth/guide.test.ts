/**
 * `docs/guides/oauth.md` is followed to the letter: its shell lines run in one shell against the
 * real program; where the page says to open the link, a browser does.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cleanEnv, freshFolder, startService } from '../docs/process.ts'
import { walk } from './browser.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('../../packages/gatehook/bin/gatehook.cjs', import.meta.url))
const SERVICE = fileURLToPath(new URL('../../packages/gatehook/service', import.meta.url))
const page = readFileSync(new URL('../../docs/guides/oauth.md', import.meta.url), 'utf8')

/** The commands of the page as they stand, with ours behind their names. */
const PRELUDE = `set -euo pipefail
npx() { shift; ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "$@"; }
curl() { command curl -sS --fail-with-body "$@"; echo >&2; }
`
const ANSWERED = 'CODE=…'

test('a newcomer gets from a client to a refreshed token', async (t) => {
  const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text!)
  assert.match(blocks[0]!, /^URL=/)
  const turn = blocks.findIndex((text) => text.trim() === ANSWERED)
  assert(turn > 0, 'where the browser comes in')
  const folder = await freshFolder(t)
  const database = { GATEHOOK_DATABASE_URL: `sqlite:${folder}/gatehook.db` }
  const keyed = { ...database, GATEHOOK_SECRET_KEY: 'a secret that both processes know' }
  const { url } = await startService(t, SERVICE, [], keyed)
  const shell = async (script: string) => {
    const env = { ...cleanEnv(), ...keyed, URL: url }
    return (await run('bash', ['-c', PRELUDE + script], { cwd: folder, env })).stdout
  }
  const before = blocks.slice(1, turn).join('\n')
  const kept = `${folder}/kept`
  const save = `\ndeclare -p REDIRECT VERIFIER CLIENT_ID CLIENT_SECRET > ${kept}\n`
  const link = (await shell(before + save)).trim().split('\n').at(-1)!
  const visitor = { username: 'ada@example.com', password: 'correct horse battery' }
  const back = await walk(new URL(link), visitor)
  assert.equal(back.searchParams.get('state'), 'whatever-you-like')
  const code = `CODE=${back.searchParams.get('code')}\n`
  const said = await shell(`. ${kept}\n${code}${blocks.slice(turn + 1).join('\n')}`)
  assert.match(said, /"scope":"orders:read","refresh_token"/)
  assert.match(said, /"status":"ok","user":"\d+"/)
  assert.match(said, /"data":\[/)
  assert.match(said, /"token_type":"Bearer","expires_in":900,"scope":"orders:read"}\s*$/)
})
