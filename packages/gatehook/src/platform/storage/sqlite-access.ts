/**
 * Whether this process may open and write the files of a SQLite database: SQLite reports no more
 * than "unable to open", "readonly" or an I/O error.
 */
import { accessSync, constants, readFileSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

const { R_OK, W_OK, X_OK } = constants

/** The system tells the limit of one file of a process; a statement just fails beyond it. */
const SIZE_LIMIT = 'Max file size'

/** Bytes that SQLite adds to a file at once, at most. */
const GROWTH_BYTES = 2 ** 20

/** Returns a sentence that names the file which may not grow; undefined if all may. */
export function describeSizeLimit(file: string, limits = readLimits): string | undefined {
  const line = limits()
    .split('\n')
    .find((each) => each.startsWith(SIZE_LIMIT))
  // The soft limit is the first number; without a limit it is a word.
  const limit = Number.parseInt(line?.slice(SIZE_LIMIT.length) ?? '', 10)
  if (Number.isNaN(limit)) return undefined
  for (const path of [file, `${file}-wal`]) {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    if (size + GROWTH_BYTES < limit) continue
    return (
      `${path} has ${size} bytes, and this process may write files of ${limit} bytes: raise ` +
      'ulimit -f (LimitFSIZE of systemd), for a running process with prlimit --fsize.'
    )
  }
  return undefined
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}

interface Machine {
  /** Throws the error of the system. */
  readonly access: (path: string, mode: number) => void
  readonly user: () => number | undefined
}

const MACHINE: Machine = { access: accessSync, user: () => process.geteuid?.() }

/** Returns a sentence that names the first file that it may not write; undefined if it may. */
export function describeAccess(file: string, machine = MACHINE): string | undefined {
  const folder = describePath(dirname(file), R_OK | W_OK | X_OK, '700', machine)
  if (folder !== undefined) return folder
  for (const suffix of ['', '-wal', '-shm', '.lock']) {
    const sentence = describePath(file + suffix, R_OK | W_OK, '600', machine)
    if (sentence !== undefined) return sentence
  }
  return undefined
}

function describePath(
  path: string,
  access: number,
  mode: string,
  machine: Machine,
): string | undefined {
  try {
    machine.access(path, access)
    return undefined
  } catch (error) {
    const stats = readStats(path)
    const user = machine.user()
    if (stats === 'hidden')
      return `A folder of ${path} denies access to this process (user ${user}).`
    return (
      stats && REASONS[(error as NodeJS.ErrnoException).code ?? '']?.({ path, stats, mode, user })
    )
  }
}

function readStats(path: string): Stats | 'hidden' | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return 'hidden'
  }
}

interface DeniedPath {
  readonly path: string
  readonly stats: Stats
  /** The mode that it needs. */
  readonly mode: string
  readonly user: number | undefined
}

const REASONS: Readonly<Record<string, (denied: DeniedPath) => string>> = {
  EROFS: ({ path }) =>
    `The file system of ${path} is mounted read-only. After an error of the disk, Linux mounts ` +
    'it so: see dmesg, and mount it for writes.',
  EPERM: ({ path }) => `${path} is immutable: chattr -i ${path}`,
  EACCES({ path, stats, mode, user }) {
    const isOwner = stats.uid === user
    const owner = isOwner ? '' : ` and belongs to the user ${stats.uid}`
    return (
      `${path} has the mode ${(stats.mode & 0o777).toString(8).padStart(4, '0')}${owner}, and ` +
      `this process (user ${user}) must read and write it: ` +
      (isOwner ? `chmod ${mode} ${path}` : `chown ${user} ${path}`)
    )
  },
}
