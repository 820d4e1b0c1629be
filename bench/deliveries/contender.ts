/**
 * The process of one contender: measures a run and prints it as JSON. A warm-up before the
 * measurement compiles code and opens connections.
 */
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createLog } from '../../packages/gatehook/src/kernel/log.ts'
import { openEngineHost } from '../../packages/gatehook/src/outbound/deliveries/host.ts'
import { runBare } from './bare.ts'
import { engineSettings, type Measured, measureRun } from './common.ts'

/** Deliveries of the warm-up, after which background compilation has ended. */
const WARM = 40_000
const POLL_MS = 5

const [name, countText, registrations, pending] = process.argv.slice(2)
const count = Number(countText) + WARM
const receiver = fork(new URL('receiver.ts', import.meta.url), { execArgv: [] })
const nextMessage = () =>
  new Promise<number>((resolve) => receiver.once('message', resolve as never))
const port = await nextMessage()
const received = () => {
  const answer = nextMessage()
  receiver.send('count')
  return answer
}

const arrived = async (least: number) => {
  while ((await received()) < least) await pause(POLL_MS)
}

/** Measures the deliveries after the warm-up. */
async function whenWarm(sending: Promise<unknown>): Promise<Measured> {
  await arrived(WARM)
  const result = await measureRun(count - (await received()), () => arrived(count))
  await sending
  return result
}

async function runEngine(): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-bench-'))
  const databaseUrl = `sqlite:${join(folder, 'gatehook.db')}`
  const url = `http://127.0.0.1:${port}/`
  const events = String(Math.max(count, Number(pending)))
  // Another process fills the database, so that its memory does not count.
  const args = [databaseUrl, url, registrations!, events]
  const filler = fork(new URL('fill.ts', import.meta.url), args, { execArgv: [] })
  await new Promise((resolve) => filler.once('exit', resolve))
  const host = await openEngineHost(engineSettings(databaseUrl), {
    log: createLog({ level: 'warn' }),
  })
  const result = await whenWarm(Promise.resolve())
  await host.stop(1_000)
  await rm(folder, { recursive: true, force: true })
  return result
}

const result = name === 'bare' ? await whenWarm(runBare(port, count)) : await runEngine()
process.stdout.write(`${JSON.stringify(result)}\n`)
receiver.kill()
