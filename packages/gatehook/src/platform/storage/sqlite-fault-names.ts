/** Names the causes of errors of SQLite that the machine knows: locks of others, rights, limits. */
import { Failure } from '../../kernel/failure.ts'
import { describeFileLock } from './file-lock-holder.ts'
import { describeAccess, describeSizeLimit } from './sqlite-access.ts'
import { FileFaultError, isBusy, isDiskFault, isNotOpened, isReadOnly } from './sqlite-errors.ts'
import type { SqliteLockWait } from './sqlite-lock-wait.ts'
import { storageUnavailable } from './transaction.ts'

/** Returns the function that throws an error of a write again, with its cause if it finds one. */
export const createFaultNamer =
  (file: string, lockWait: Pick<SqliteLockWait, 'current'>) =>
  (error: unknown): never => {
    const cause = error instanceof Failure ? error.detail : undefined
    const sentence = describeCause(cause)
    if (sentence === undefined) throw error
    throw storageUnavailable(new FileFaultError(sentence, { cause }))

    function describeCause(cause: unknown): string | undefined {
      const lock = isBusy(cause) ? lockWait.current() : undefined
      if (lock) return describeFileLock(lock.holder, lock.waiting)
      const isDenied = isReadOnly(cause) || isNotOpened(cause) || isDiskFault(cause)
      if (!isDenied) return undefined
      return describeAccess(file) ?? (isDiskFault(cause) ? describeSizeLimit(file) : undefined)
    }
  }
