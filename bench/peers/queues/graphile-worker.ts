/**
 * graphile-worker as its documentation on performance recommends: a local queue and batched
 * completion. A larger queue and longer batches are 20 % faster here.
 */
import { Logger, makeWorkerUtils, type Runner, run } from 'graphile-worker'
import pg from 'pg'
import { batches, CONNECTIONS, JOB, type Job, type OpenQueue } from './queue.ts'

/** The default logger prints a line per job. */
const logger = new Logger(() => () => {})

export const openGraphile: OpenQueue = async (connectionString, count) => {
  const utils = await makeWorkerUtils({ connectionString, logger })
  await utils.migrate()
  for (const jobs of batches(count, 1_000)) {
    await utils.addJobs(jobs.map((payload) => ({ identifier: JOB, payload })))
  }
  await utils.release()
  let runner: Runner | undefined
  return {
    async start(deliver) {
      runner = await run({
        connectionString,
        logger,
        noHandleSignals: true,
        taskList: { [JOB]: (payload) => deliver(payload as Job) },
        preset: {
          worker: {
            concurrentJobs: CONNECTIONS,
            maxPoolSize: CONNECTIONS + 2,
            localQueue: { size: 2_000 },
            completeJobBatchDelay: 20,
            failJobBatchDelay: 20,
          },
        },
      })
    },
    async stop() {
      await runner?.stop()
      const client = new pg.Client(connectionString)
      await client.connect()
      const { rows } = await client.query('SELECT COUNT(*)::int AS left FROM graphile_worker.jobs')
      await client.end()
      return rows[0].left
    },
  }
}
