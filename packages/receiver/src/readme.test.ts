import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

test('the example of the README prints the output that the README contains', async () => {
  const path = fileURLToPath(new URL('../example/receive.ts', import.meta.url))
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code, printed] =
    /<!-- example\/receive\.ts -->\n```ts\n(.*?)```\n\nprints[^\n]*\n\n```\n(.*?)```/s.exec(readme)!
  assert.equal(code, readFileSync(path, 'utf8'))
  const env = { ...process.env, WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }
  assert.equal((await promisify(execFile)(process.execPath, [path], { env })).stdout, printed)
  const { WEBHOOK_SECRET: _, ...bare } = env
  await assert.rejects(promisify(execFile)(process.execPath, [path], { env: bare }), /TypeError/)
})
