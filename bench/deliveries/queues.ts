/**
 * `node bench/deliveries/queues.ts QUEUE COUNT`: one side of row 12, a process of its own. The same
 * transport and signatures as the engine's, driven by a job queue on PostgreSQL, which is told not
 * to wait for its disk: that is to the queue's advantage.
 */
import { fork } from 'node:child_process'
import { makeWorkerUtils, type Runner, run as runGraphile } from 'graphile-worker'
import pg from 'pg'
import PgBoss from 'pg-boss'
import { wallClock } from '../../packages/gatehook/src/kernel/clock.ts'
import { scopeOf } from '../../packages/gatehook/src/kernel/principal.ts'
import { signedPost } from '../../packages/gatehook/src/webhooks/signed-post.ts'
import { createTransport } from '../../packages/gatehook/src/webhooks/transport.ts'
import { startPostgres } from '../../test/rig/postgres.ts'
import { body, measured, SECRET } from './common.ts'

const CONCURRENCY = 20
const JOB = 'deliver'

const [queue, countText] = process.argv.slice(2)
const count = Number(countText)
const server = await startPostgres()
const receiver = fork(new URL('receiver.ts', import.meta.url), { execArgv: [] })
const told = () => new Promise<number>((resolve) => receiver.once('message', resolve as never))
const port = await told()
const received = () => {
  const answer = told()
  receiver.send('count')
  return answer
}
const transport = createTransport({ clock: wallClock, allowPrivate: true, timeoutMs: 15_000 })
const post = signedPost(transport.send, 'bench')
const health = { firstFailureAt: null, lastFailureAt: null, lastSuccessAt: null, parkedUntil: null }
const registration = {
  ...{ no: 1, id: 'wh_1', scope: scopeOf(1, 'live'), customer: 1, sends: true, revision: 1 },
  ...{ url: `http://127.0.0.1:${port}/`, secrets: [{ ...SECRET, expiresAt: null }] },
  ...{ rate: undefined, ...health },
}

interface Payload {
  readonly no: number
  readonly body: string
}

async function deliver({ no, body }: Payload): Promise<void> {
  const ids = { no, id: `dlv_${no}`, eventId: `evt_${no}`, eventType: 'order.created' }
  const now = Date.now()
  const due = { ...ids, attempt: 0, createdAt: now, body }
  const outcome = await post(registration, due, { n: 1, now })
  if (outcome.kind !== 'answered') throw new Error(outcome.message)
}

const all = async () => {
  while ((await received()) < count) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function graphile() {
  const utils = await makeWorkerUtils({ connectionString: server.url })
  await utils.migrate()
  await utils.release()
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query(
    `SELECT graphile_worker.add_job('${JOB}', json_build_object('no', n, 'body', $1::text))
     FROM generate_series(1, $2::int) n`,
    [body(), count],
  )
  await client.end()
  let runner: Runner | undefined
  const result = await measured(count, async () => {
    runner = await runGraphile({
      ...{ connectionString: server.url, concurrency: CONCURRENCY, maxPoolSize: 24 },
      noHandleSignals: true,
      taskList: { [JOB]: (payload) => deliver(payload as Payload) },
      preset: {
        worker: { localQueue: { size: 500 }, completeJobBatchDelay: 5, failJobBatchDelay: 5 },
      },
    })
    await all()
  })
  await runner!.stop()
  return result
}

async function boss() {
  const queues = new PgBoss(server.url)
  await queues.start()
  await queues.createQueue(JOB)
  for (let at = 0; at < count; at += 1_000) {
    const many = Array.from({ length: Math.min(1_000, count - at) }, (_, n) => at + n + 1)
    await queues.insert(many.map((no) => ({ name: JOB, data: { no, body: body() } })))
  }
  const result = await measured(count, async () => {
    // Its own polling waits between two batches; fetched in a loop it is as quick as it can be.
    let done = 0
    while (done < count) {
      const jobs = await queues.fetch<Payload>(JOB, { batchSize: 500 })
      const waiting = [...jobs]
      const lane = async () => {
        for (let job = waiting.shift(); job; job = waiting.shift()) await deliver(job.data)
      }
      await Promise.all(Array.from({ length: CONCURRENCY }, lane))
      await queues.complete(
        JOB,
        jobs.map(({ id }) => id),
      )
      done += jobs.length
    }
    await all()
  })
  await queues.stop({ graceful: false })
  return result
}

const result = queue === 'graphile-worker' ? await graphile() : await boss()
process.stdout.write(`${JSON.stringify(result)}\n`)
transport.close()
receiver.kill()
await server.stop()
process.exit(0)
