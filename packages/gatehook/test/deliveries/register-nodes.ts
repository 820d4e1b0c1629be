/** Registers nodes, as their main threads do, so that delivery engines can join them. */
import { wallClock } from '../../src/kernel/clock.ts'
import { storeNode } from '../../src/platform/nodes/registry.ts'
import type { Database } from '../../src/platform/storage/database.ts'

export async function registerNodes(db: Database, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const use = { slot: 0, facts: '{}', columns: {}, keyIds: [] }
    await storeNode(db, { id, name: id, ...use, seenAt: wallClock.now() })
  }
}
