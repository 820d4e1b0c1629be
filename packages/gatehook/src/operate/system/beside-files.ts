/**
 * Files beside a SQLite database that this node does not read again: its next start would fail
 * without them, or take the data for restored data.
 */
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { type FigureWatch, type FigureWatchOptions, watchFigure } from './watched-figure.ts'

interface FilePlaces extends FigureWatchOptions {
  /** The database; undefined on PostgreSQL. */
  readonly file: string | undefined
  /** The file of the master secret; undefined with GATEHOOK_SECRET_KEY. */
  readonly secretFile: string | undefined
}

const MESSAGE =
  'A file beside the database was removed: the node goes on, and its next start would not.'

const SECRET_ADVICE =
  'copy it back from a backup, because the next start is refused without it; if there is no ' +
  'copy, docs/guides/operations.md has "The master secret is lost"'
const LOCK_ADVICE = 'without it a second start is not refused, and ends this node: restart the node'
const MARK_ADVICE =
  'the next start takes the data for restored data and holds deliveries, jobs and mail: restart ' +
  'the node, and run gatehook restore release'

/** Names the files that were there when the node started. */
export function createBesideFileCheck({ file, secretFile, ...options }: FilePlaces): FigureWatch {
  const advices = [
    [secretFile, SECRET_ADVICE],
    [file && `${file}.lock`, LOCK_ADVICE],
    [file && `${file}.mark`, MARK_ADVICE],
  ] as const
  const started = advices.filter(([path]) => path !== undefined && existsSync(path))
  return watchFigure(options, {
    read: () => started.filter(([path]) => !existsSync(path!)),
    describe(gone) {
      if (gone.length === 0) return undefined
      const all = gone.map(([path, advice]) => `${basename(path!)} was removed: ${advice}.`)
      return { message: MESSAGE, detail: all.join(' ') }
    },
    gauges: [
      [
        'gatehook_beside_files_missing',
        'Files beside the database that were removed since the start of the node; SQLite only.',
        (gone) => (file === undefined ? undefined : gone.length),
      ],
    ],
  })
}
