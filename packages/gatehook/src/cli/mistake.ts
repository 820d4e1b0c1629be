/**
 * Errors, as the person at the terminal reads them: a sentence and what to do, never a stack for
 * what was to be expected. Exit codes: 1 it did not work, 2 usage, 78 configuration.
 */
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../config/config.ts'
import { Failure } from '../kernel/failure.ts'
import { DeclarationError } from '../resources/fields.ts'
import { StorageError } from '../storage/database.ts'

export const EXIT = { fine: 0, failed: 1, usage: 2, configuration: 78 } as const

export interface Mistake {
  readonly sentences: readonly string[]
  readonly exit: number
}

/** Thrown by commands for what the person typed. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Thrown for what cannot be done, where the sentence says it all. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** The file that declares the service does not load. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
}

type Errno = NodeJS.ErrnoException & {
  readonly address?: string
  readonly hostname?: string
  readonly port?: number
}

/** Errors of the network pass by themselves; a supervisor may try again, so they are not 78. */
const PASSING = /^(ECONN|ETIMEDOUT|EHOST|ENET|EAI_|EPIPE|57P0)/

const listening: Readonly<Record<string, (e: Errno) => Mistake>> = {
  EADDRINUSE: (e) => ({
    sentences: [
      `Port ${e.port} on ${e.address} is in use. Stop the process that holds it, or choose ` +
        'another: --port 0 takes any free one.',
    ],
    exit: EXIT.failed,
  }),
  EACCES: (e) => ({
    sentences: [`Port ${e.port} is reserved for the system. Choose one above 1023 with --port.`],
    exit: EXIT.configuration,
  }),
  EADDRNOTAVAIL: (e) => ({
    sentences: [`No interface of this machine has the address ${e.address} (GATEHOOK_HOST).`],
    exit: EXIT.configuration,
  }),
  ENOTFOUND: (e) => ({
    sentences: [`No address is known for ${e.hostname} (GATEHOOK_HOST).`],
    exit: EXIT.configuration,
  }),
}

/** What `listen` of node fails at. */
const LISTENING: ReadonlySet<unknown> = new Set(['listen', 'bind', 'getaddrinfo'])

/** Undefined when the error is a bug: then the stack is what helps. */
export function explain(error: unknown): Mistake | undefined {
  if (error instanceof ConfigError) {
    return { sentences: error.mistakes, exit: EXIT.configuration }
  }
  if (error instanceof UsageError) return { sentences: [error.message], exit: EXIT.usage }
  if (error instanceof CommandError) return { sentences: [error.message], exit: EXIT.failed }
  if (error instanceof ServiceError || error instanceof DeclarationError) {
    return { sentences: error.message.split('\n'), exit: EXIT.configuration }
  }
  if (error instanceof StorageError) {
    const code = (error.cause as Errno | undefined)?.code ?? ''
    const exit = PASSING.test(code) ? EXIT.failed : EXIT.configuration
    return { sentences: [`${error.message} (GATEHOOK_DATABASE_URL)`], exit }
  }
  if (error instanceof Failure) return explainFailure(error)
  const errno = error as Errno
  if (LISTENING.has(errno?.syscall)) {
    return listening[errno.code ?? '']?.(errno)
  }
  return undefined
}

function explainFailure(failure: Failure): Mistake | undefined {
  if (failure.status === 500) return undefined
  // `/scopes/0` and `is not a scope` are one sentence together.
  const details = (failure.errors ?? []).map(({ pointer, parameter, message }) =>
    `${(pointer ?? parameter ?? '').replace(/^\//, '')} ${message}`.trim(),
  )
  const wrongInput = failure.status === 400 || failure.status === 422
  return {
    sentences: details.length > 0 ? details : [failure.message],
    exit: wrongInput ? EXIT.usage : EXIT.failed,
  }
}

const ENGINE = new URL('../', import.meta.url).href
const FRAME = /(?:\(|at (?:async )?)(file:\/\/[^\s)]+?):(\d+)(?::\d+)?\)?$/
const HEAD = /^(?:file:\/\/)?(\/\S.*|[A-Za-z]:[\\/].*):(\d+)$/

/**
 * `file:line` of the nearest line that is not ours or Node's; undefined when the stack names none.
 */
export function placeIn(error: Error): string | undefined {
  const lines = (error.stack ?? '').split('\n')
  // Syntax errors tell the place on their first line, in front of the message.
  const head = HEAD.exec(lines[0] ?? '')
  if (head) return `${decodeURI(head[1]!)}:${head[2]}`
  for (const line of lines) {
    const frame = FRAME.exec(line)
    if (frame && !frame[1]!.startsWith(ENGINE) && !frame[1]!.includes('/node_modules/')) {
      return `${fileURLToPath(frame[1]!)}:${frame[2]}`
    }
  }
  return undefined
}
