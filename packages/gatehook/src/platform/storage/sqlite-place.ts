/**
 * Whether the paths of a SQLite database still lead to the files that this process has opened. A
 * process goes on in files that others have renamed or removed, and the next one would not find its
 * commits there: writes are rejected until the files are back.
 */
import { statSync } from 'node:fs'
import type { Log } from '../../kernel/log.ts'
import { FileFaultError } from './sqlite-errors.ts'
import { storageUnavailable } from './transaction.ts'

/** A path leads to no file, or to another one than this process has open. */
export class MovedFileError extends FileFaultError {
  override readonly name = 'MovedFileError'

  constructor(path: string, isDatabase: boolean) {
    super(
      `${path} was moved, removed or replaced while the node uses it: writes are 503, because ` +
        `the next start would not find them. ${isDatabase ? MOVED_ADVICE : LOG_ADVICE}`,
    )
  }
}

const MOVED_ADVICE =
  'Move the files back, and the node goes on. If they were removed, do not end the node: ' +
  'docs/guides/operations.md, "The files of the database are gone".'
const LOG_ADVICE = 'Move it back, and the node goes on; or restart the node, if it was removed.'

/** The log has the last commits; a process that finds no index shares no lock with this one. */
const SUFFIXES = ['', '-wal', '-shm'] as const

export interface SqlitePlace {
  /** Throws `storage_unavailable` while a path does not lead to the file of this process. */
  require(): void
}

/** Returns a text that identifies the file of a path; undefined without one, or if unreadable. */
function identify(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path)
    return `${dev} ${ino}`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'none' : undefined
  }
}

interface PlaceOptions {
  /** The absolute path of the database, whose files are open. */
  readonly file: string
  readonly log: Log
  /** Copies the log into the database: called once its path is gone, and the database remains. */
  readonly saveLog: () => void
}

export function createSqlitePlace({ file, log, saveLog }: PlaceOptions): SqlitePlace {
  const opened = SUFFIXES.map((suffix) => {
    const path = file + suffix
    return { path, suffix, id: identify(path) }
  })
  let isMoved = false
  const onMoved = (error: MovedFileError, isLogGone: boolean) => {
    isMoved = true
    log.fatal(error.message)
    try {
      if (isLogGone) saveLog()
    } catch (err) {
      log.error({ err }, 'the removed log of the database could not be copied into the database')
    }
  }
  return {
    require() {
      let isLogGone = false
      const moved = opened.filter(({ path, suffix, id }) => {
        const current = identify(path)
        if (id === undefined || current === undefined || current === id) return false
        isLogGone ||= suffix === '-wal' && current === 'none'
        return true
      })
      const [first] = moved
      if (!first) {
        if (isMoved) log.info('the files of the database are back: writes go on')
        isMoved = false
        return
      }
      const error = new MovedFileError(first.path, first.suffix === '')
      if (!isMoved) onMoved(error, isLogGone && first.suffix !== '')
      throw storageUnavailable(error)
    },
  }
}
