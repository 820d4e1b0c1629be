/**
 * One contender, a process of its own: measures a run and prints it as JSON. It is measured once it
 * is warm: its code compiled, its connections open.
 */
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openEngineHost } from '../../packages/gatehook/src/deliveries/host.ts'
import { createLog } from '../../packages/gatehook/src/kernel/log.ts'
import { runBare } from './bare.ts'
import { type Measured, measured } from './common.ts'

/** Deliveries before it is measured: after so many, compiling in the background has ended. */
const WARM = 40_000
const POLL_MS = 5

const [name, countText, registrations, pending] = process.argv.slice(2)
const count = Number(countText) + WARM
const receiver = fork(new URL('receiver.ts', import.meta.url), { execArgv: [] })
const told = () => new Promise<number>((resolve) => receiver.once('message', resolve as never))
const port = await told()
const received = () => {
  const answer = told()
  receiver.send('count')
  return answer
}

const arrived = async (least: number) => {
  while ((await received()) < least) await pause(POLL_MS)
}

/** From the first that is counted to the last. */
async function whenWarm(sending: Promise<unknown>): Promise<Measured> {
  await arrived(WARM)
  const result = await measured(count - (await received()), () => arrived(count))
  await sending
  return result
}

async function runEngine(): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-bench-'))
  const databaseUrl = `sqlite:${join(folder, 'gatehook.db')}`
  const url = `http://127.0.0.1:${port}/`
  const events = String(Math.max(count, Number(pending)))
  // Filled by another process: what filling took is not what delivering takes.
  const args = [databaseUrl, url, registrations!, events]
  const filler = fork(new URL('filler.ts', import.meta.url), args, { execArgv: [] })
  await new Promise((resolve) => filler.once('exit', resolve))
  const { MASTER } = await import('./fill.ts')
  const settings = {
    ...{
      databaseUrl,
      masterSecrets: [MASTER],
      secretFile: undefined,
      testClock: false,
      scheduleS: [5],
      timeoutMs: 15_000,
    },
    ...{ allowPrivate: true, ca: undefined, rate: undefined, userAgent: 'bench', shape: 'v2' },
    coverage: {},
  }
  const room = await openEngineHost(settings, createLog({ level: 'warn' }))
  const result = await whenWarm(Promise.resolve())
  await room.stop(1_000)
  await rm(folder, { recursive: true, force: true })
  return result
}

const result = name === 'bare' ? await whenWarm(runBare(port, count)) : await runEngine()
process.stdout.write(`${JSON.stringify(result)}\n`)
receiver.kill()
