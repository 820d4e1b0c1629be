/**
 * Errors as sentences for the person at the terminal: the problem and the remedy, without a stack
 * for expected errors. Exit codes: 1 failed or findings, 2 usage, 75 a later start may succeed,
 * 78 the configuration must change (§18.7).
 */

import { Failure, type FieldError } from '../kernel/failure.ts'
import { ConfigError } from '../platform/config/config.ts'
import { NodesRunError } from '../platform/nodes/registry.ts'
import { SchemaError, StorageError, StorageWaitError } from '../platform/storage/database.ts'
import { describeSchemaError } from '../platform/storage/storage-failure.ts'
import { DeclarationError } from '../protocol/fields/declaration-mistakes.ts'

export const EXIT = { ok: 0, failed: 1, usage: 2, temporary: 75, configuration: 78 } as const

export interface ErrorReport {
  readonly sentences: readonly string[]
  readonly exit: number
}

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command cannot be carried out. The sentences are complete. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly sentences: readonly string[]
  readonly exit: number
  constructor(sentences: string | readonly string[], exit: number = EXIT.failed) {
    super([sentences].flat().join('\n'))
    this.sentences = [sentences].flat()
    this.exit = exit
  }
}

type Errno = NodeJS.ErrnoException & {
  readonly address?: string
  readonly hostname?: string
  readonly port?: number
  /** The option that names the address, if it is not that of the main listener. */
  readonly setting?: string
}

const hostOption = ({ setting = 'GATEHOOK_HOST' }: Errno): string => setting

const listenErrors: Readonly<Record<string, (e: Errno) => ErrorReport>> = {
  EADDRINUSE: (e) => ({
    sentences: [
      `Port ${e.port} on ${e.address} is in use. Stop the process that holds it, or choose ` +
        (e.setting ? `another in ${e.setting}.` : 'another: --port 0 takes any free one.'),
    ],
    exit: EXIT.failed,
  }),
  EACCES: (e) => ({
    sentences: [
      `Port ${e.port} is reserved for the system. Choose one above 1023 with ` +
        `${e.setting ?? '--port'}.`,
    ],
    exit: EXIT.configuration,
  }),
  EADDRNOTAVAIL: (e) => ({
    sentences: [`No interface of this machine has the address ${e.address} (${hostOption(e)}).`],
    exit: EXIT.configuration,
  }),
  ENOTFOUND: (e) => ({
    sentences: [`There is no address for ${e.hostname} (${hostOption(e)}).`],
    exit: EXIT.configuration,
  }),
}

/** System calls of `listen` in Node. */
const LISTEN_CALLS: ReadonlySet<unknown> = new Set(['listen', 'bind', 'getaddrinfo'])

/** Returns sentences and exit code of an expected error; undefined for a bug. */
export function reportOfError(error: unknown): ErrorReport | undefined {
  if (error instanceof ConfigError) {
    return { sentences: error.mistakes, exit: EXIT.configuration }
  }
  if (error instanceof UsageError) return { sentences: [error.message], exit: EXIT.usage }
  if (error instanceof CommandError) return error
  if (error instanceof DeclarationError) {
    return { sentences: error.message.split('\n'), exit: EXIT.configuration }
  }
  if (error instanceof SchemaError) {
    return { sentences: [describeSchemaError(error)], exit: EXIT.configuration }
  }
  if (error instanceof NodesRunError) return { sentences: [error.message], exit: EXIT.temporary }
  if (error instanceof StorageError) {
    const exit = error instanceof StorageWaitError ? EXIT.temporary : EXIT.configuration
    return { sentences: [`${error.message} (GATEHOOK_DATABASE_URL)`], exit }
  }
  if (error instanceof Failure) return reportOfFailure(error)
  const errno = error as Errno
  return LISTEN_CALLS.has(errno?.syscall) ? listenErrors[errno.code ?? '']?.(errno) : undefined
}

/**
 * Returns a sentence about a mistake: `/scopes/0` and `is not a scope` form one. The message of a
 * parameter usually begins with its name.
 */
export function sentenceOfMistake({
  pointer,
  parameter,
  message,
}: Pick<FieldError, 'pointer' | 'parameter' | 'message'>): string {
  const subject = pointer?.replace(/^\//, '') ?? parameter ?? ''
  return message.startsWith(`${subject} `) ? message : `${subject} ${message}`.trim()
}

function reportOfFailure(failure: Failure): ErrorReport | undefined {
  if (failure.status === 500) return undefined
  const details = (failure.errors ?? []).map(sentenceOfMistake)
  const isInvalidInput = failure.status === 400 || failure.status === 422
  const isTemporary = failure.status === 503
  return {
    sentences: details.length > 0 ? details : [failure.message],
    exit: isInvalidInput ? EXIT.usage : isTemporary ? EXIT.temporary : EXIT.failed,
  }
}
