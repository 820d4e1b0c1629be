/**
 * pg-boss as its documentation recommends for a backlog: two workers fetch batches without a pause
 * while these are full. Each job has its own result, so that a failure does not resend a batch.
 */
import { PgBoss } from 'pg-boss'
import { batches, JOB, type Job, type OpenQueue } from './queue.ts'

const BATCH = 500

export const openBoss: OpenQueue = async (connectionString, count) => {
  const boss = new PgBoss({ connectionString, schedule: false })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  await boss.createQueue(JOB)
  for (const jobs of batches(count, 1_000)) {
    await boss.insert(
      JOB,
      jobs.map((data) => ({ data })),
    )
  }
  return {
    async start(deliver) {
      const polling = { batchSize: BATCH, burstWhenBatchFull: true, localConcurrency: 2 } as const
      const options = { ...polling, perJobResults: true } as const
      const deliverJob = ({ id, data }: { id: string; data: Job }) =>
        deliver(data).then(
          () => ({ id, status: 'completed' as const }),
          () => ({ id, status: 'failed' as const }),
        )
      await boss.work<Job, void, typeof options>(JOB, options, (jobs) =>
        Promise.all(jobs.map(deliverJob)),
      )
    },
    async stop() {
      await boss.offWork(JOB, { wait: true })
      const [stats] = await boss.getQueueStats(JOB, { force: true })
      await boss.stop({ graceful: false })
      return stats!.queuedCount + stats!.activeCount + stats!.failedCount
    },
  }
}
