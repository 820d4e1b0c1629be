/** Notices damaged pages and full disks in the errors of statements, for the node's readiness. */
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from './database.ts'

type FaultMethods = Pick<Database, 'hasDamage' | 'lacksSpace' | 'takeSpace'>

export interface DiskFaults {
  /** Receives a translated error of a statement, and throws it again. */
  readonly note: (error: unknown) => never
  /** Receives damage that a check of pages has found. */
  readonly noteDamage: (err: unknown) => void
  /** The database is on another disk now. */
  readonly forgetDamage: () => void
  /** Returns the methods of the database. `takeSpace` throws the error of a full disk. */
  methods(takeSpace: (bytes: number) => Promise<void>): FaultMethods
}

interface DiskFaultsDeps {
  readonly log: Log
  /** Classify the error that the database has returned. */
  readonly isDamage: (cause: unknown) => boolean
  readonly isDiskFull: (cause: unknown) => boolean
}

export function createDiskFaults({ log, isDamage, isDiskFull }: DiskFaultsDeps): DiskFaults {
  let isDamaged = false
  let isFull = false
  const noteDamage = (err: unknown) => {
    if (isDamaged) return
    isDamaged = true
    log.fatal(
      { err },
      'the database is damaged. Restore a backup or recover the rows, then start the nodes: ' +
        'docs/guides/operations.md, "The database is damaged"',
    )
  }
  const classify = (error: unknown) => {
    const err = error instanceof Failure ? error.detail : error
    if (isDamage(err)) noteDamage(err)
    if (!isFull && isDiskFull(err)) {
      isFull = true
      log.error({ err }, 'the disk of the database is full: writes are 503')
    }
  }
  return {
    note(error) {
      classify(error)
      throw error
    },
    noteDamage,
    forgetDamage() {
      isDamaged = false
    },
    methods: (takeSpace) => ({
      hasDamage: () => isDamaged,
      lacksSpace: () => isFull,
      async takeSpace(bytes) {
        await takeSpace(bytes)
        if (isFull) log.info('the disk of the database has space again')
        isFull = false
      },
    }),
  }
}
