/**
 * Hashes passwords with argon2id (§3.9, RFC 9106); they are stored as PHC strings. At most two are
 * hashed at once, in the order of `hash-queue.ts`, on the threads of `hash-threads.ts`.
 */
import { timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Clock } from '../../kernel/clock.ts'
import type { Random } from '../../kernel/random.ts'
import { createHashQueue, type HashPriority } from './hash-queue.ts'
import { createHashThreads, type Derive } from './hash-threads.ts'
import { createPasswordHints } from './password-hints.ts'

/** The second recommendation of OWASP: 19 MiB, two passes, one lane. */
const COST: Argon2Cost = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
const CONCURRENCY = 2
/** New passwords come from authenticated callers; they alternate with each other. */
const NEW_PASSWORD: HashPriority = { rank: 0, account: 'new password', address: 'new password' }

export interface Hasher {
  /** Returns the PHC string of a new password of the account. Throws `overloaded`. */
  hash(password: string, account: string): Promise<string>
  /**
   * Runs `work` when it is its turn. Throws `overloaded`. `work` gets the function that verifies a
   * password against a stored PHC string; `undefined`, for a name without an account, takes as long
   * and is false.
   */
  runInTurn<T>(priority: HashPriority, work: (verifyHash: VerifyHash) => Promise<T>): Promise<T>
  /** Records that the password of the account was verified. */
  learn(account: string, password: string): void
  /** Returns whether the password is probably that of the account; takes a microsecond. */
  isLikely(account: string, password: string): boolean
}

type VerifyHash = (password: string, stored: string | undefined) => Promise<boolean>

interface HasherOptions {
  readonly random: Random
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** Default 2, or 1 on a machine with two cores: the other core serves requests. */
  readonly concurrency?: number
  readonly maxWaiting?: number
  /** Default: argon2 on threads that all hashers of the process share. */
  readonly derive?: Derive
}

let sharedThreads: Derive | undefined

export function createHasher(options: HasherOptions): Hasher {
  const { random, clock, maxWaiting } = options
  const concurrency =
    options.concurrency ?? Math.max(1, Math.min(CONCURRENCY, availableParallelism() - 1))
  const queue = createHashQueue({
    concurrency,
    elapsedMs: () => clock.elapsedMs(),
    ...(maxWaiting !== undefined && { maxWaiting }),
  })
  const hints = createPasswordHints(random)
  if (!options.derive) sharedThreads ??= createHashThreads()
  const deriveKey = options.derive ?? sharedThreads!
  const derive = (message: string, nonce: Uint8Array, cost: Argon2Cost) =>
    deriveKey({ ...cost, message, nonce, tagLength: HASH_BYTES })
  const decoy = formatPhc(COST, random.bytes(SALT_BYTES), random.bytes(HASH_BYTES))
  const verifyHash: VerifyHash = async (password, stored) => {
    const { cost, salt, hash } = parsePhc(stored ?? decoy)
    const derivedHash = await derive(password, salt, cost)
    return timingSafeEqual(derivedHash, hash) && stored !== undefined
  }
  return {
    async hash(password, account) {
      const salt = random.bytes(SALT_BYTES)
      const derivedHash = await queue.run(NEW_PASSWORD, () => derive(password, salt, COST))
      hints.learn(account, password)
      return formatPhc(COST, salt, derivedHash)
    },
    runInTurn: (priority, work) => queue.run(priority, () => work(verifyHash)),
    ...hints,
  }
}

interface Argon2Cost {
  /** KiB. */
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

const formatPhc = (
  { memory, passes, parallelism }: Argon2Cost,
  salt: Buffer,
  hash: Buffer,
): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/** Parses a PHC string with the cost it was hashed with, which may differ from the current one. */
function parsePhc(stored: string) {
  const [, m, t, p, salt, hash] = PHC.exec(stored) ?? []
  if (hash === undefined) throw new Error('bug: a stored password is not a PHC string')
  return {
    cost: { memory: Number(m), passes: Number(t), parallelism: Number(p) },
    salt: Buffer.from(salt!, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}
