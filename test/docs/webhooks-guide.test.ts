/**
 * Follows the README and docs/guides/webhooks.md as a reader does: starts the receiver of the page,
 * registers it, restarts it with its secret, and verifies that it receives the events of the page's
 * commands.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sign } from '../../packages/receiver/src/receiver.ts'
import { emptyFolder, onEnd } from '../rig/cleanup.ts'
import { freePort } from '../rig/postgres.ts'
import { cleanEnv, startService } from './process.ts'
import { checkStep, runSteps } from './shell.ts'
import { filesOf, type Step, stepsOf } from './snippets.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const GUIDE = 'docs/guides/webhooks.md'
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const pages = [
  {
    path: 'README.md',
    scopes: ['webhooks:read', 'webhooks:write', 'users:read', 'users:write'],
    events: ['user.created'],
  },
  {
    path: GUIDE,
    scopes: ['webhooks:read', 'webhooks:write', 'events:read', 'events:write', 'orders:read'],
    events: ['order.paid', 'payment.succeeded'],
  },
]

/** Writes the files of a page into a folder that has `gatehook-receiver`. */
function project(t: TestContext, path: string): string {
  const folder = emptyFolder(t)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const file of filesOf(read(path))) writeFileSync(join(folder, file.path), file.text)
  return folder
}

interface Receiver {
  readonly lines: string[]
  /** Resolves when the process has printed a line that matches. */
  waitForLine(pattern: RegExp): Promise<void>
  stop(): Promise<void>
}

async function startReceiver(folder: string, env: Record<string, string>): Promise<Receiver> {
  const child: ChildProcess = spawn(process.execPath, ['--no-warnings', 'receive.ts'], {
    cwd: folder,
    env: { ...cleanEnv(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  let wake = () => {}
  createInterface({ input: child.stdout! }).on('line', (line) => {
    lines.push(line)
    wake()
  })
  const waitForLine = async (pattern: RegExp) => {
    while (!lines.some((line) => pattern.test(line))) {
      await new Promise<void>((resolve) => void (wake = resolve))
    }
  }
  await waitForLine(/^listening/)
  return {
    lines,
    waitForLine,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

/** Whether a step registers the receiver. */
const registers = ({ script }: Step) => /POST "\$URL\/webhooks"/.test(script)

for (const { path, scopes, events } of pages) {
  test(`${path}: the receiver gets the events of the commands`, async (t) => {
    const folder = project(t, path)
    const service = join(root, 'packages/gatehook/service')
    const { url, key } = await startService(t, service, scopes, {
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    })
    const port = await freePort()
    const first = await startReceiver(folder, { PORT: String(port) })
    onEnd(t, first.stop)
    const variables = { URL: url, KEY: key, HOOK: `http://127.0.0.1:${port}` }
    const steps = stepsOf(read(path))
    const stepsToRegister = steps.findIndex(registers) + 1
    assert.ok(stepsToRegister > 0 && steps.length > stepsToRegister, 'steps are missing')
    const before = steps.slice(0, stepsToRegister)
    const responses = await runSteps(t, before, variables)
    for (const [at, step] of before.entries()) checkStep(step, responses[at]!)

    const { id, secret } = JSON.parse(responses.at(-1)!.at(-1)!.body)
    await first.stop()
    const env = { PORT: String(port), WEBHOOK_SECRETS: secret }
    const second = await startReceiver(folder, env)
    onEnd(t, second.stop)
    const after = steps.slice(stepsToRegister)
    const laterResponses = await runSteps(t, after, { ...variables, ID: id })
    for (const [at, step] of after.entries()) checkStep(step, laterResponses[at]!)
    for (const type of events) await second.waitForLine(new RegExp(`^${type} evt_`))
    // The guide sends one event three times: it is handled once.
    const last = second.lines.filter((line) => line.startsWith(`${events.at(-1)} `))
    assert.equal(last.length, 1)
  })
}

test('docs/guides/webhooks.md: its own verification accepts signed bodies only', async (t) => {
  const { isGenuine } = await import(pathToFileURL(join(project(t, GUIDE), 'by-hand.ts')).href)
  const body = Buffer.from('{"id":"evt_1"}')
  const [secret, other] = [`whsec_${'A'.repeat(43)}=`, `whsec_${'B'.repeat(42)}A=`]
  const header = async (secrets: string[], timestamp?: number) =>
    (await sign({ body, secret: secrets, timestamp }))['Gatehook-Signature']!
  const valid = await header([secret])
  assert.equal(isGenuine(body, valid, [secret]), true)
  assert.equal(isGenuine(body, await header([other, secret]), [secret]), true)
  assert.equal(isGenuine(body, valid, [other, secret]), true)
  assert.equal(isGenuine(body, valid, [other]), false)
  assert.equal(isGenuine(Buffer.from('{}'), valid, [secret]), false)
  const old = Math.floor(Date.now() / 1000) - 400
  assert.equal(isGenuine(body, await header([secret], old), [secret]), false)
  for (const broken of ['', 't=1', 'v1=', valid.slice(0, -1), valid.replace('v1', 'v0')]) {
    assert.equal(isGenuine(body, broken, [secret]), false, broken)
  }
  for (const placeholder of ['', ...JSON.parse(read('spec/vectors/placeholder-secrets.json'))]) {
    assert.throws(() => isGenuine(body, valid, [secret, placeholder]), TypeError, placeholder)
  }
})
