/**
 * BullMQ: jobs added in bulk, one worker, completed jobs removed, no event listener. A higher
 * concurrency than the connections, or batched commands, are slower.
 */
import { Queue, Worker } from 'bullmq'
import { batches, CONNECTIONS, JOB, type Job, type OpenQueue } from './queue.ts'

export const openBull: OpenQueue = async (path, count) => {
  const connection = { path, maxRetriesPerRequest: null }
  const queue = new Queue<Job>(JOB, { connection })
  for (const jobs of batches(count, 1_000)) {
    await queue.addBulk(jobs.map((data) => ({ name: JOB, data })))
  }
  let worker: Worker<Job> | undefined
  return {
    async start(deliver) {
      worker = new Worker<Job>(JOB, ({ data }) => deliver(data), {
        connection,
        concurrency: CONNECTIONS,
        removeOnComplete: { count: 0 },
      })
      worker.on('error', (error) => console.error(error))
      await worker.waitUntilReady()
    },
    async stop() {
      await worker?.close()
      const counts = await queue.getJobCounts()
      await queue.close()
      return Object.values(counts).reduce((sum, count) => sum + count, 0)
    },
  }
}
