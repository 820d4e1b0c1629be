/**
 * Recognizes a database that is a copy of the one which its services used last (§18.5). On
 * PostgreSQL a copy has another object id, or is in another cluster; a dump that was restored into
 * the same database has tables with other object ids. On SQLite the header of the
 * file has a mark, which each start changes, and a file beside it repeats it. Neither is in a
 * table: a move copies all tables to a database that is no copy.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { createPrivateFile, syncFolder } from '../../kernel/files.ts'
import type { Random } from '../../kernel/random.ts'
import type { Database, Reader, Statement } from './database.ts'

/** `new`: no service has used the database. `backup`: a copy that `gatehook backup` wrote. */
type CopyVerdict = 'new' | 'same' | 'copy' | 'backup'

export interface CopyMark {
  verify(reader: Reader): Promise<CopyVerdict>
  /**
   * Marks the database as the one of this installation, in the transaction of `ddl`. The caller
   * calls the result after the commit.
   */
  adopt(verdict: CopyVerdict, ddl: (text: string) => Promise<void>): Promise<() => void>
}

/** @param file the path of a SQLite database; undefined on PostgreSQL */
export const createCopyMark = async (
  db: Database,
  file: string | undefined,
  random: Random,
): Promise<CopyMark> =>
  file === undefined
    ? createPostgresMark(await readIdentity(db))
    : createSqliteMark(markFile(file), random)

/** The path beside a SQLite file that repeats its mark. */
export const markFile = (file: string): string => `${file}.mark`

/** The mark of the copies that `gatehook backup` writes: none is in a file. */
const BACKUP_MARK = -1
export const MARK_BACKUP = `PRAGMA application_id = ${BACKUP_MARK}`

const READ_MARK: Statement = { sql: 'PRAGMA application_id', text: '', values: [] }
const MARK_MAX = 0x7fff_ffff

function createSqliteMark(path: string, random: Random): CopyMark {
  let mark = 0
  return {
    async verify(reader) {
      mark = Number((await reader.arrays(READ_MARK))[0]![0])
      if (mark === 0) return 'new'
      if (mark === BACKUP_MARK) return 'backup'
      return readMarks(path).includes(mark) ? 'same' : 'copy'
    },
    async adopt(verdict, ddl) {
      const next = (random.bytes(4).readUInt32BE() % MARK_MAX) + 1
      // With both marks the file fits before the commit and after it.
      writeMarks(path, verdict === 'same' ? [mark, next] : [next])
      await ddl(`PRAGMA application_id = ${next}`)
      return () => writeMarks(path, [next])
    },
  }
}

function readMarks(path: string): readonly number[] {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8').trim().split(' ').map(Number)
}

/** Replaces the file at once, so that a killed process leaves the former one or the new one. */
function writeMarks(path: string, marks: readonly number[]): void {
  const part = `${path}.part`
  rmSync(part, { force: true })
  createPrivateFile(part, `${marks.join(' ')}\n`)
  renameSync(part, path)
  syncFolder(dirname(path))
}

/** A function stores the identity: a dump contains it, and a move does not copy it. */
const STORED = 'gh_identity'
const ofPostgres = (text: string): Statement => ({ sql: '', text, values: [] })
const OIDS = `SELECT concat(oid, '/', to_regclass('gh_migrations')::oid) AS value
  FROM pg_database WHERE datname = current_database()`
const CLUSTER = 'SELECT system_identifier::text AS value FROM pg_control_system()'
/** No function, and no permission. */
const NOT_AVAILABLE = /^(42883|42501|0A000)$/

/** Returns the cluster of the database, if the role may read it, and the object ids. */
async function readIdentity(db: Database): Promise<string> {
  const cluster = await db.get(ofPostgres(CLUSTER)).catch((error) => {
    if (NOT_AVAILABLE.test(String(error?.code))) return undefined
    throw error
  })
  const database = await db.get(ofPostgres(OIDS))
  return `${cluster?.value ?? ''}/${database!.value}`
}

function createPostgresMark(identity: string): CopyMark {
  return {
    async verify(reader) {
      const present = `SELECT to_regproc('${STORED}') IS NOT NULL AS value`
      if ((await reader.get(ofPostgres(present)))!.value !== 1) return 'new'
      const stored = await reader.get(ofPostgres(`SELECT ${STORED}() AS value`))
      if (stored!.value === identity) return 'same'
      // The database of an earlier build, which did not know the table: no copy.
      return stored!.value === identity.slice(0, identity.lastIndexOf('/')) ? 'new' : 'copy'
    },
    async adopt(verdict, ddl) {
      if (verdict !== 'same') {
        await ddl(`CREATE OR REPLACE FUNCTION ${STORED}() RETURNS TEXT LANGUAGE sql STABLE
          AS $$SELECT '${identity}'::text$$`)
      }
      return () => undefined
    },
  }
}
