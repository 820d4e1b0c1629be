/**
 * Whether this process may open further files. Beyond its limit connections are closed without a
 * response, and no statement reports it. Linux alone tells both numbers.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { type FigureWatch, type FigureWatchOptions, watchFigure } from './watched-figure.ts'

export interface OpenFiles {
  /** Undefined: there are too many to count them. */
  readonly open: number | undefined
  readonly limit: number
}

/** Returns undefined where the system does not tell it. */
export function readOpenFiles(limit = readLimit()): OpenFiles | undefined {
  if (limit === undefined) return undefined
  try {
    return { open: readdirSync('/proc/self/fd').length, limit }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'EMFILE' || code === 'ENFILE' ? { open: undefined, limit } : undefined
  }
}

const LIMIT = 'Max open files'

function readLimit(): number | undefined {
  try {
    const lines = readFileSync('/proc/self/limits', 'utf8').split('\n')
    const text = lines.find((line) => line.startsWith(LIMIT))?.slice(LIMIT.length)
    // The soft limit is the first number; without a limit it is a word.
    return Number.parseInt(text ?? '', 10) || undefined
  } catch {
    return undefined
  }
}

/** The share of the limit from which further connections may be refused soon. */
const SHARE_MAX = 0.9
/** The default of Linux for a service: less is an error of its supervisor. */
const LIMIT_MIN = 1_024

const RAISE = 'Raise its limit (LimitNOFILE of systemd, ulimit -n)'

/** Returns a sentence about a process that has few files left, or may open few. */
export function describeOpenFiles({ open, limit }: OpenFiles): string | undefined {
  if (open === undefined || open >= SHARE_MAX * limit)
    return (
      `This process has ${open ?? 'all'} of its ${limit} files and connections open, and ` +
      `refuses connections beyond. ${RAISE}, or close idle clients.`
    )
  if (limit >= LIMIT_MIN) return undefined
  return (
    `This process may open ${limit} files and connections only, and refuses connections beyond: ` +
    `few callers at a time use them up. ${RAISE} to ${LIMIT_MIN} or more.`
  )
}

interface OpenFileOptions extends FigureWatchOptions {
  readonly read?: () => OpenFiles | undefined
}

export function createOpenFileCheck(options: OpenFileOptions): FigureWatch {
  const limit = readLimit()
  return watchFigure(options, {
    read: options.read ?? (() => readOpenFiles(limit)),
    describe: describeOpenFiles,
    gauges: [
      [
        'process_open_fds',
        'Files and connections that the process has open; Linux only.',
        ({ open }) => open,
      ],
      [
        'process_max_fds',
        'Files and connections that the process may have open; Linux only.',
        ({ limit }) => limit,
      ],
    ],
  })
}
