/** The time of the last backup, which metrics, attention and `gatehook doctor` read. */
import type { Database, Reader, Tx } from './database.ts'
import { readApplied } from './migrate.ts'
import { readSetting, writeSetting } from './settings.ts'

const LAST_BACKUP = 'last_backup'

/** Records the time of a backup. */
export const recordBackup = (tx: Tx, at: number): Promise<void> => writeSetting(tx, LAST_BACKUP, at)

interface BackupState {
  /** Epoch milliseconds; undefined: none was recorded. */
  readonly lastAt: number | undefined
  /**
   * The start of the age of the backup: the last one, or the creation of a SQLite database. Other
   * tools back up PostgreSQL; it is undefined there until one was recorded.
   */
  readonly since: number | undefined
}

export async function readBackupState(db: Reader & Pick<Database, 'name'>): Promise<BackupState> {
  const lastAt = await readSetting<number>(db, LAST_BACKUP)
  if (lastAt !== undefined || db.name === 'postgres') return { lastAt, since: lastAt }
  return { lastAt, since: (await readApplied(db)).createdAt }
}
