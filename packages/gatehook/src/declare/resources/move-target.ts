/** The options of a move and of its undo that follow from the declaration. */
import { engineTables, migrateEngine } from '../../engine-tables.ts'
import { wallClock } from '../../kernel/clock.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { MoveOptions } from '../../platform/storage/move/move.ts'
import type { UndoOptions } from '../../platform/storage/move/undo.ts'
import { copyAdditions, listCreatedTables } from './additions.ts'
import { requireOwnTables } from './database-owner.ts'
import { countIdsSince } from './ids-since.ts'
import { migrateService } from './migrate.ts'
import type { ServiceDefinition } from './service.ts'
import { isWordTable } from './table.ts'

/** Returns the options of a move that follow from the declaration. */
export const moveOf = (
  source: Database,
  target: Database,
  service: ServiceDefinition,
): Pick<
  MoveOptions,
  'source' | 'target' | 'tables' | 'isDerived' | 'examineTarget' | 'prepareTarget'
> => ({
  source,
  target,
  tables: engineTables,
  // Of a search that is not declared any more; the search is indexed again if it is.
  isDerived: isWordTable,
  examineTarget: () => requireOwnTables(target, service, {}),
  async prepareTarget() {
    await migrateEngine(target, { clock: wallClock })
    await migrateService(target, service, undefined, { isMoveTarget: true })
    await copyAdditions(source, target)
  },
})

/** The options of an undone move that follow from the installation. */
export const optionsOfUndo: Pick<UndoOptions, 'tables' | 'listCreated' | 'isDerived' | 'countIds'> =
  {
    tables: engineTables,
    listCreated: listCreatedTables,
    isDerived: isWordTable,
    countIds: (tx) => countIdsSince(tx, wallClock.now()),
  }
