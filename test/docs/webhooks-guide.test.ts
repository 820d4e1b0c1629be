/**
 * docs/guides/webhooks.md is done as its reader does it: the receiver it shows is started,
 * registered, started again with its secret, and gets what the lines of the page send.
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
import { cleanEnv, freshFolder, startService } from './process.ts'
import { checkStep, run } from './shell.ts'
import { filesOf, stepsOf } from './snippets.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(join(root, 'docs/guides/webhooks.md'), 'utf8')
const scopes = [
  ...['webhooks:read', 'webhooks:write', 'events:read', 'events:write', 'orders:read'],
]

/** The files of the page, where `gatehook-receiver` is installed. */
async function project(t: TestContext): Promise<string> {
  const folder = await freshFolder(t)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const { path, text } of filesOf(page)) writeFileSync(join(folder, path), text)
  return folder
}

interface Receiver {
  readonly port: number
  readonly lines: string[]
  /** Resolves once a line like this was printed. */
  printed(pattern: RegExp): Promise<void>
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
  const printed = async (pattern: RegExp) => {
    while (!lines.some((line) => pattern.test(line))) {
      await new Promise<void>((resolve) => void (wake = resolve))
    }
  }
  await printed(/^listening/)
  return {
    port: Number(lines[0]!.split(' ').at(-1)),
    lines,
    printed,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

test('docs/guides/webhooks.md: the receiver gets what the lines send', async (t) => {
  const folder = await project(t)
  const service = join(root, 'packages/gatehook/service')
  const { url, key } = await startService(t, service, scopes, {
    GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
  })
  const first = await startReceiver(folder, { PORT: '0' })
  t.after(first.stop)
  const variables = { URL: url, KEY: key, HOOK: `http://127.0.0.1:${first.port}` }
  const steps = stepsOf(page)
  const registering = steps.findIndex(({ json }) => Object.hasOwn(json ?? {}, 'secret')) + 1
  assert.ok(registering > 0 && steps.length > registering + 5, 'the page has lost its steps')
  const before = steps.slice(0, registering)
  const answers = await run(t, before, variables)
  for (const [at, step] of before.entries()) checkStep(step, answers[at]!)

  const { id, secret } = JSON.parse(answers.at(-1)!.at(-1)!.body)
  await first.stop()
  const env = { PORT: String(first.port), WEBHOOK_SECRETS: secret }
  const second = await startReceiver(folder, env)
  t.after(second.stop)
  const after = steps.slice(registering)
  const more = await run(t, after, { ...variables, ID: id })
  for (const [at, step] of after.entries()) checkStep(step, more[at]!)
  await second.printed(/^order\.paid evt_/)
  await second.printed(/^payment\.succeeded evt_/)
  const events = second.lines.filter((line) => line.startsWith('payment.succeeded'))
  assert.equal(events.length, 1, 'sent three times, handled once')
})

test('docs/guides/webhooks.md: the check by hand believes only what was signed', async (t) => {
  const { isGenuine } = await import(pathToFileURL(join(await project(t), 'by-hand.ts')).href)
  const body = Buffer.from('{"id":"evt_1"}')
  const [secret, other] = ['whsec_AAAA', 'whsec_BBBB']
  const header = async (secrets: string[], timestamp?: number) =>
    (await sign({ body, secret: secrets, timestamp }))['Gatehook-Signature']!
  const good = await header([secret])
  assert.equal(isGenuine(body, good, [secret]), true)
  assert.equal(isGenuine(body, await header([other, secret]), [secret]), true)
  assert.equal(isGenuine(body, good, [other, secret]), true)
  assert.equal(isGenuine(body, good, [other]), false)
  assert.equal(isGenuine(Buffer.from('{}'), good, [secret]), false)
  const old = Math.floor(Date.now() / 1000) - 400
  assert.equal(isGenuine(body, await header([secret], old), [secret]), false)
  for (const broken of ['', 't=1', 'v1=', good.slice(0, -1), good.replace('v1', 'v0')]) {
    assert.equal(isGenuine(body, broken, [secret]), false, broken)
  }
})
