/**
 * Whether the disk of a SQLite database has inodes left. Without one, no file can be created
 * although there is space: a backup, a log of the database, a monitoring file.
 */
import { statfsSync } from 'node:fs'
import { type FigureWatch, type FigureWatchOptions, watchFigure } from './watched-figure.ts'

interface Inodes {
  readonly free: number
  readonly total: number
}

/** Undefined without a folder, and for a file system that does not count them. */
export function readInodes(folder: string | undefined): Inodes | undefined {
  if (folder === undefined) return undefined
  try {
    const { ffree, files } = statfsSync(folder)
    return files > 0 ? { free: ffree, total: files } : undefined
  } catch {
    return undefined
  }
}

/** Fewer are named: the next files of other programs take them. */
const FREE_MIN = 100

interface InodeOptions extends FigureWatchOptions {
  /** The folder of the database; undefined on PostgreSQL. */
  readonly folder: string | undefined
  readonly read?: () => Inodes | undefined
}

const FEW = 'The disk of the database has hardly an inode left: no file can be created soon.'

/** Operators read the folder. */
export const createInodeCheck = (options: InodeOptions): FigureWatch =>
  watchFigure(options, {
    read: options.read ?? (() => readInodes(options.folder)),
    describe({ free, total }) {
      if (free >= FREE_MIN) return undefined
      const detail =
        `The disk of ${options.folder} has ${free} of its ${total} inodes left (df -i): ` +
        'backups, logs and the next start cannot create files. Remove small files from it, or ' +
        'move the folder to a larger disk.'
      return { message: FEW, detail }
    },
    gauges: [
      [
        'gatehook_disk_free_inodes',
        'Free inodes of the disk with the database; SQLite only.',
        ({ free }) => free,
      ],
      [
        'gatehook_disk_inodes',
        'Inodes of the disk with the database; SQLite only.',
        ({ total }) => total,
      ],
    ],
  })
