/**
 * Passwords at rest: argon2id (§3.9, RFC 9106), stored as PHC strings. At most two are hashed at
 * once, in the order of `hash-queue.ts`, on threads that give way to requests (`hash-threads.ts`).
 */
import { timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Clock } from '../kernel/clock.ts'
import type { Random } from '../kernel/random.ts'
import { createHashQueue, type HashTurn } from './hash-queue.ts'
import { type Derive, hashThreads } from './hash-threads.ts'
import { createPasswordHints } from './password-hints.ts'

/** OWASP's second choice: 19 MiB, two passes, one lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 } as const
const SALT_BYTES = 16
const HASH_BYTES = 32
const AT_ONCE = 2
/** New passwords come from authenticated callers; they take turns with each other. */
const NEW_PASSWORD: HashTurn = { rank: 0, account: 'new password', address: 'new password' }

export interface Hasher {
  /** The PHC string of a new password of the account. Throws `overloaded`. */
  hash(password: string, account: string): Promise<string>
  /**
   * Runs `work` when it is its turn. Throws `overloaded`. Inside, `verify` says whether the
   * password is the stored one; undefined stands for a name without an account: it takes as
   * long, and is false.
   */
  inTurn<T>(turn: HashTurn, work: (verify: Verify) => Promise<T>): Promise<T>
  /** The password of the account was verified. */
  learn(account: string, password: string): void
  /** Whether the password is probably that of the account; costs a microsecond. */
  isLikely(account: string, password: string): boolean
}

export type Verify = (password: string, stored: string | undefined) => Promise<boolean>

export interface HasherOptions {
  readonly random: Random
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** Default 2, and one where the machine has two cores: the other serves requests. */
  readonly atOnce?: number
  readonly waitingMax?: number
  /** Default: argon2 on threads of its own. */
  readonly derive?: Derive
}

export function createHasher(options: HasherOptions): Hasher {
  const { random, clock } = options
  const atOnce = options.atOnce ?? Math.max(1, Math.min(AT_ONCE, availableParallelism() - 1))
  const waitingMax = options.waitingMax === undefined ? {} : { waitingMax: options.waitingMax }
  const queue = createHashQueue({ atOnce, elapsedMs: () => clock.elapsedMs(), ...waitingMax })
  const hints = createPasswordHints(random)
  const threads = options.derive ?? hashThreads()
  const derive = (message: string, nonce: Uint8Array, parameters: Parameters) =>
    threads({ ...parameters, message, nonce, tagLength: HASH_BYTES })
  const nobody = phc(PARAMETERS, random.bytes(SALT_BYTES), random.bytes(HASH_BYTES))
  const verify: Verify = async (password, stored) => {
    const { parameters, salt, hash } = parsed(stored ?? nobody)
    const made = await derive(password, salt, parameters)
    return timingSafeEqual(made, hash) && stored !== undefined
  }
  return {
    async hash(password, account) {
      const salt = random.bytes(SALT_BYTES)
      const work = () => derive(password, salt, PARAMETERS)
      const derived = await queue.run(NEW_PASSWORD, work)
      hints.learn(account, password)
      return phc(PARAMETERS, salt, derived)
    },
    inTurn: (turn, work) => queue.run(turn, () => work(verify)),
    ...hints,
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
