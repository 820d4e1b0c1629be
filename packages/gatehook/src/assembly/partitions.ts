/** Partitions the tables of an earlier release in the background (decision 0053). */
import { setTimeout as delay } from 'node:timers/promises'
import { listUnusedEngineIndexes } from '../platform/storage/engine-indexes.ts'
import { isPartitioned, timeTables } from '../platform/storage/partitions/catalog.ts'
import { partitionTables } from '../platform/storage/partitions/conversion.ts'
import type { Component, Foundation } from './foundation.ts'

const RETRY_MS = 60_000

export function partitionInBackground({
  db,
  clock,
  log,
}: Foundation): Required<Pick<Component, 'start' | 'stop'>> {
  const stopping = new AbortController()
  const { signal } = stopping
  let running: Promise<void> | undefined
  const run = async () => {
    while (!signal.aborted) {
      try {
        await db.dropIndexes(await listUnusedEngineIndexes(db))
        if (await partitionTables(db, { now: () => clock.now(), log, signal })) return
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error }, 'a table cannot be partitioned; another attempt follows')
      }
      await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
  return {
    async start() {
      if (db.name !== 'postgres') return
      const states = await Promise.all(timeTables.map((table) => isPartitioned(db, table)))
      if (states.includes(false)) running = run()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
