/**
 * `neighbour-contender.ts quiet|noisy [unlimited]`: one side of row 15 with the engine in a thread;
 * prints a latency. Customers have the default delivery rate (§9.8) or none.
 */
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createRecorder } from '../../packages/gatehook/src/history/events/store.ts'
import { wallClock } from '../../packages/gatehook/src/kernel/clock.ts'
import { createLog } from '../../packages/gatehook/src/kernel/log.ts'
import { scopeOf } from '../../packages/gatehook/src/kernel/principal.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { startEngineThread } from '../../packages/gatehook/src/outbound/deliveries/deliveries.ts'
import { createOutbox } from '../../packages/gatehook/src/outbound/deliveries/outbox.ts'
import { openDatabase } from '../../packages/gatehook/src/platform/storage/open.ts'
import { engineSettings, OBJECT } from './common.ts'
import { addCustomer, fill, recordMany } from './fill.ts'

/** The first events open connections. */
const WARM_EVENTS = 20
const EVENTS = 200
const EVERY_MS = 15
const WARM_MS = 500
/** The default of `GATEHOOK_DELIVERY_RATE`. */
const DEFAULT_RATE = { limit: 100, windowMs: 1_000, burst: 200 }
/** Deliveries of the other customers. The flood must outlast the measurement. */
const HANGING = 2_000
const FLOOD = 160_000

const noisy = process.argv[2] === 'noisy'
const rate = process.argv[3] === 'unlimited' ? undefined : DEFAULT_RATE
const log = createLog({ level: 'warn' })

async function receiver(how: 'stamps' | 'hangs' | 'counts') {
  const child = fork(new URL('receiver.ts', import.meta.url), [how], { execArgv: [] })
  // Also if this side fails: a receiver keeps the pipe that the bench reads.
  process.once('exit', () => child.kill())
  const port = await new Promise<number>((resolve) => child.once('message', resolve as never))
  return { child, url: `http://127.0.0.1:${port}/` }
}

const folder = await mkdtemp(join(tmpdir(), 'gatehook-bench-'))
const databaseUrl = `sqlite:${join(folder, 'gatehook.db')}`
const receivers = [await receiver('stamps'), await receiver('hangs'), await receiver('counts')]
const [own, hanging, flooded] = receivers
await fill({ databaseUrl, receiver: own!.url, registrations: 1, events: 0 })
const db = await openDatabase(databaseUrl, { log })
if (noisy) {
  await recordMany(db, [await addCustomer(db, 'hanging', hanging!.url)], HANGING)
  await recordMany(db, [await addCustomer(db, 'flooded', flooded!.url)], FLOOD)
}
const [clock, random] = [wallClock, systemRandom()]
const engine = await startEngineThread({ ...engineSettings(databaseUrl), rate }, log, {
  onAttempts: () => {},
  onJobsDue: () => {},
})
const render = ({ object }: { readonly object: string }) => object
const effective = (version: string) => version
const coveredBy = () => undefined
const wake = (webhookNos: readonly number[]) => engine.wake({ webhookNos, resends: [] })
const outbox = createOutbox({ clock, render, effective, coveredBy, wake })
const record = createRecorder({ clock, random, shape: 'v2', outbox, sinks: [] })
const arrivals = new Map<string, number>()
own!.child.on('message', ({ id, at }: { id: string; at: number }) => void arrivals.set(id, at))
await pause(WARM_MS)
const [first] = await db.arrays({ sql: 'SELECT MIN(no) FROM gh_customers', text: '', values: [] })
const scope = scopeOf(first![0] as number, 'live')
const sent = new Map<string, number>()
const event = { type: 'order.created', collection: 'orders', objectId: 1, object: OBJECT }
for (let n = 0; n < WARM_EVENTS + EVENTS; n++) {
  const { id } = await db.write((tx) => record(tx, scope, event))
  if (n >= WARM_EVENTS) sent.set(id, performance.timeOrigin + performance.now())
  await pause(EVERY_MS)
}
const until = performance.now() + 10_000
const all = WARM_EVENTS + EVENTS
while (arrivals.size < all && performance.now() < until) await pause(10)
if (arrivals.size < all) throw new Error(`${arrivals.size} of ${all} events arrived`)
if (noisy) {
  const row = await db.arrays({
    sql: `SELECT COUNT(*) FROM gh_deliveries WHERE state = 'pending'`,
    text: '',
    values: [],
  })
  // With fewer, the flood ended before the measurement.
  if ((row[0]![0] as number) <= HANGING) throw new Error('the flood ended too early')
}
const latencies = [...sent].map(([id, at]) => arrivals.get(id)! - at).sort((a, b) => a - b)
const at = (share: number) =>
  Math.round(latencies[Math.floor(latencies.length * share)]! * 100) / 100
process.stdout.write(`${JSON.stringify({ p50: at(0.5), p95: at(0.95) })}\n`)
for (const { child } of receivers) child.kill()
await engine.stop(0)
await db.close()
await rm(folder, { recursive: true, force: true })
