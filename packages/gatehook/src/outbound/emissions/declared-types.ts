/** The types of a declaration that SQL emits: a start and `gatehook migrate` store them. */
import type { Clock } from '../../kernel/clock.ts'
import { listRunningNodes } from '../../platform/nodes/registry.ts'
import type { Database } from '../../platform/storage/database.ts'
import { listEmittedTypes, storeEmittedTypes } from './grants.ts'

/**
 * Adds the types of a declaration. While nodes run, it removes none: one of an earlier declaration,
 * which starts again, would take the types of the next one from the transactions of the team.
 */
export async function declareEmittedTypes(
  db: Database,
  clock: Pick<Clock, 'now'>,
  types: readonly string[],
): Promise<void> {
  const stored = await listEmittedTypes(db)
  const added = types.filter((type) => !stored.includes(type))
  const undeclared = stored.filter((type) => !types.includes(type))
  const isAlone = undeclared.length > 0 && (await listRunningNodes(db, clock.now())).length === 0
  const removed = isAlone ? undeclared : []
  if (added.length + removed.length === 0) return
  await db.write((tx) => storeEmittedTypes(tx, added, removed))
}
