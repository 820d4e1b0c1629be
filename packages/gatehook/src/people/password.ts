/**
 * Passwords at rest: argon2id (§3.9, RFC 9106), stored as PHC strings. At most two are hashed at
 * once, on threads that give way to requests (`hash-threads.ts`).
 */
import { timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Failure } from '../kernel/failure.ts'
import type { Random } from '../kernel/random.ts'
import { hashThreads } from './hash-threads.ts'

/** OWASP's second choice: 19 MiB, two passes, one lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 } as const
const SALT_BYTES = 16
const HASH_BYTES = 32
const AT_ONCE = 2
/** Those behind the last of them would wait for seconds; they are told to come back. */
const WAITING_MAX = 128
const RETRY_AFTER_S = 2

export interface Hasher {
  /** The PHC string of a new password. Throws `overloaded`. */
  hash(password: string): Promise<string>
  /**
   * Whether the password is the stored one. Undefined stands for an account nobody has: it takes
   * as long, and is false. Throws `overloaded`.
   */
  verify(password: string, stored: string | undefined): Promise<boolean>
}

export interface HasherOptions {
  readonly random: Random
  /** Default 2, and one where the machine has two cores: the other serves requests. */
  readonly atOnce?: number
  readonly waitingMax?: number
}

export function createHasher(options: HasherOptions): Hasher {
  const { random } = options
  const atOnce = options.atOnce ?? Math.max(1, Math.min(AT_ONCE, availableParallelism() - 1))
  const queued = gate(atOnce, options.waitingMax ?? WAITING_MAX)
  const threads = hashThreads()
  const derive = (message: string, nonce: Uint8Array, parameters: Parameters) =>
    queued(() => threads({ ...parameters, message, nonce, tagLength: HASH_BYTES }))
  const nobody = phc(PARAMETERS, random.bytes(SALT_BYTES), random.bytes(HASH_BYTES))
  return {
    async hash(password) {
      const salt = random.bytes(SALT_BYTES)
      return phc(PARAMETERS, salt, await derive(password, salt, PARAMETERS))
    },
    async verify(password, stored) {
      const { parameters, salt, hash } = parsed(stored ?? nobody)
      const made = await derive(password, salt, parameters)
      return timingSafeEqual(made, hash) && stored !== undefined
    },
  }
}

/** Runs so many at once; as many as `waitingMax` wait in their order, the next are refused. */
function gate(atOnce: number, waitingMax: number) {
  let running = 0
  const waiting: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < atOnce) running += 1
    else if (waiting.length < waitingMax) {
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      throw new Failure('overloaded', undefined, {
        headers: { 'retry-after': String(RETRY_AFTER_S) },
      })
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next)
        next() // the place is handed on
      else running -= 1
    }
  }
}

interface Parameters {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

const phc = ({ memory, passes, parallelism }: Parameters, salt: Buffer, hash: Buffer): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/** With the parameters it was made with, whatever today's are. */
function parsed(stored: string) {
  const [, m, t, p, salt, hash] = PHC.exec(stored) ?? []
  if (hash === undefined) throw new Error('bug: what is stored as a password is no PHC string')
  return {
    parameters: { memory: Number(m), passes: Number(t), parallelism: Number(p) },
    salt: Buffer.from(salt!, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}
