/** The process that holds the lock of a SQLite file against writes, as Linux tells it. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'

export interface FileLockHolder {
  readonly pid: number
  /** Its program and those arguments that are files; empty if the process hides them. */
  readonly command: string
}

/** A lock for which writes wait. */
export interface FileLock {
  /** Undefined: the machine does not show it. */
  readonly holder: FileLockHolder | undefined
  readonly waiting: number
  /** Since when writes wait; epoch milliseconds. */
  readonly sinceMs: number
}

/** A held lock: process, inode, first and last byte. `->` begins a lock that waits. */
const LOCK = /^\d+: (?:POSIX|OFDLCK) +ADVISORY +WRITE +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) (\d+) (\w+)$/
/** The bytes of the index that lock the log against writes: of a writer, a copy and a recovery. */
const INDEX_BYTES = { first: 120, last: 122 }
const COMMAND_CHARACTERS = 120

const inodeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.ino

/** Undefined where the system does not tell it, or shows no process of another container. */
export function findFileLockHolder(
  file: string,
  readLocks = () => readFileSync('/proc/locks', 'utf8'),
): FileLockHolder | undefined {
  try {
    const [database, index] = [inodeOf(file), inodeOf(`${file}-shm`)]
    const holders = readLocks()
      .split('\n')
      .flatMap((line) => {
        const [, pid, inode, first, last] = LOCK.exec(line) ?? []
        if (pid === undefined) return []
        if (Number(inode) === database) return Number(pid)
        const ends = last === 'EOF' ? Number.POSITIVE_INFINITY : Number(last)
        const isHeld = Number(first) <= INDEX_BYTES.last && ends >= INDEX_BYTES.first
        return Number(inode) === index && isHeld ? Number(pid) : []
      })
    const pid = holders.find((holder) => holder !== process.pid) ?? holders[0]
    return pid === undefined ? undefined : { pid, command: readCommand(pid) }
  } catch {
    return undefined
  }
}

/** Arguments may be secrets: the text has the program, and names of files. */
function readCommand(pid: number): string {
  try {
    const folder = `/proc/${pid}/cwd`
    const [program = '', ...rest] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const files = rest.filter((text) => text !== '' && existsSync(resolve(folder, text)))
    const words = [basename(program), ...files].join(' ').replaceAll(/[^ -~]/g, '?')
    return words.slice(0, COMMAND_CHARACTERS)
  } catch {
    return ''
  }
}

/** Returns a sentence for operators. Undefined: a process that the machine does not show. */
export function describeFileLock(holder: FileLockHolder | undefined, waiting: number): string {
  const writes = waiting === 1 ? '1 write waits' : `${waiting} writes wait`
  if (holder?.pid === process.pid) {
    return (
      `A transaction of this node holds the lock of the database file, for which ${writes}. Own ` +
      'code that waits in it is ended within 20 s.'
    )
  }
  const command = holder?.command ? ` (${holder.command})` : ''
  const who = holder
    ? `Process ${holder.pid}${command}`
    : 'A process of another container, machine or user'
  return (
    `${who} holds the lock of the database file, for which ${writes}. End the process, or the ` +
    'transaction that it has open.'
  )
}
