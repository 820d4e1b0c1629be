/**
 * Whether this process may open further files. Beyond its limit connections are closed without a
 * response, and no statement reports it. Linux alone tells both numbers.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

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
/** The files are counted again after this time: probes request the warning each second. */
const VALID_MS = 5_000

interface OpenFileCheck {
  readonly warning: HealthCheck
  readonly metrics: readonly Metric[]
}

interface OpenFileOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
  readonly read?: () => OpenFiles | undefined
}

export function createOpenFileCheck(options: OpenFileOptions): OpenFileCheck {
  const { clock, log } = options
  const limit = readLimit()
  const { read = () => readOpenFiles(limit) } = options
  let last: { readonly atMs: number; readonly sentence: string | undefined } | undefined
  const describe = (): string | undefined => {
    const files = read()
    if (!files || (files.open !== undefined && files.open < SHARE_MAX * files.limit))
      return undefined
    const count = files.open === undefined ? 'all' : String(files.open)
    return (
      `This process has ${count} of its ${files.limit} files and connections open, and refuses ` +
      'connections beyond. Raise its limit (LimitNOFILE of systemd, ulimit -n), or close idle ' +
      'clients.'
    )
  }
  const samplesOf = (value: number | undefined) => (value === undefined ? [] : [{ value }])
  return {
    warning() {
      if (!last || clock.elapsedMs() - last.atMs >= VALID_MS) {
        const sentence = describe()
        if (sentence && !last?.sentence) log.warn(sentence)
        last = { atMs: clock.elapsedMs(), sentence }
      }
      return last.sentence
    },
    metrics: [
      {
        name: 'process_open_fds',
        help: 'Files and connections that the process has open; Linux only.',
        type: 'gauge',
        read: () => samplesOf(read()?.open),
      },
      {
        name: 'process_max_fds',
        help: 'Files and connections that the process may have open; Linux only.',
        type: 'gauge',
        read: () => samplesOf(read()?.limit),
      },
    ],
  }
}
