/**
 * Adds the deliveries of an earlier release to the queue (decision 0058). Migration 61 creates the
 * queue and the triggers that maintain it; a row that is written again passes through them.
 */
import type { Database } from './database.ts'
import { readSetting, writeSetting } from './settings.ts'
import { prepareStatement } from './sql.ts'

/** Rows that one transaction examines. */
const BATCH_ROWS = 10_000
/** The setting with the number of the last examined row; null: all are in the queue. */
const FILLED_TO = 'delivery_queue_filled_to'

const lastOf = prepareStatement(`SELECT MAX(no) AS last
  FROM (SELECT no FROM gh_deliveries WHERE no > ? ORDER BY no LIMIT ${BATCH_ROWS}) AS batch`)
const rewrite = prepareStatement(`UPDATE gh_deliveries SET next_attempt_at = next_attempt_at,
  failed = CASE WHEN state = 'pending' THEN NULL ELSE 1 END
  WHERE no > ? AND no <= ? AND state IN ('pending', 'failed', 'exhausted')`)

/** Examines each row once; a start that was killed continues. */
export async function fillDeliveryQueue(db: Database): Promise<void> {
  for (;;) {
    const after = await readSetting<number | null>(db, FILLED_TO)
    if (after === null) return
    const row = await db.get<{ last: number | null }>(lastOf([after ?? 0]))
    const last = row!.last
    await db.write(async (tx) => {
      if (last !== null) await tx.run(rewrite([after ?? 0, last]))
      await writeSetting(tx, FILLED_TO, last)
    })
  }
}
