/**
 * Verifies the pages of a SQLite file that a process left without closing it (§18.4). A process
 * ends so by SIGBUS when another program writes into its file: the next one then joins the log of
 * the former pages with other ones. A thread verifies the tables beside requests.
 */
import { statSync } from 'node:fs'
import type { Log } from '../../kernel/log.ts'
import type { Reader, Statement } from './database.ts'
import type { SqliteLongReads } from './sqlite-long-reads.ts'

/**
 * A larger file is left to `gatehook doctor --deep`: while a table is read, the log grows, and the
 * process cannot end.
 */
const FILE_BYTES_MAX = 2 ** 29
/** Reasons of one table. */
const REASONS_MAX = 20

/** Values that a declaration refuses: pages are sound. */
const OF_VALUES = /^(?:NULL|NUMERIC|TEXT) value in |^CHECK constraint failed/

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** Whether a log remains: a process that closes the file removes it. Call it before opening. */
export const hasRemainingLog = (file: string): boolean => sizeOf(`${file}-wal`) > 0

interface CrashCheckDeps {
  readonly file: string
  readonly take: SqliteLongReads['take']
  readonly log: Log
  readonly isClosed: () => boolean
  readonly onDamage: (error: Error) => void
}

const statementOf = (sql: string): Statement => ({ sql, text: '', values: [] })
const TABLES = statementOf("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
const checkOf = (table: string) =>
  statementOf(`PRAGMA integrity_check("${table.replaceAll('"', '""')}")`)

/** Verifies all tables, or those until the first damaged one. Never rejects. */
export async function checkAfterCrash(deps: CrashCheckDeps): Promise<void> {
  const { file, take, log, isClosed, onDamage } = deps
  if (sizeOf(file) > FILE_BYTES_MAX) {
    log.warn('a process left the database without closing it: gatehook doctor --deep verifies it')
    return
  }
  const read = (statement: Statement) =>
    take('crash check', (reader: Reader) => reader.arrays(statement))
  try {
    for (const [name] of await read(TABLES)) {
      if (isClosed()) return
      const rows = await read(checkOf(String(name)))
      const reasons = rows.map(([text]) => String(text)).filter((text) => !OF_VALUES.test(text))
      if (reasons.length === 0 || reasons[0] === 'ok') continue
      return onDamage(new Error(`${name}: ${reasons.slice(0, REASONS_MAX).join('; ')}`))
    }
    log.info('a process left the database without closing it: its pages are sound')
  } catch (err) {
    log.warn({ err }, 'the database could not be verified after a crash: gatehook doctor --deep')
  }
}
