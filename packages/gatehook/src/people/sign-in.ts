/**
 * Verifies a name and a password (§3.8). Basic, login, the sign-in page and the console all come
 * through here: counted, hashed in a fair order, and with the same work for an unknown name.
 */

import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressBlock } from '../kernel/address.ts'
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Hasher } from './password.ts'
import type { ClientAccount, RecognizedClients, SignInClient } from './recognized-clients.ts'
import { type Attempt, type Throttle, tooManyFailures, type Who } from './throttle.ts'
import { fold, invalidCredentials, passwordText } from './username.ts'

/** Between two guesses of a known client that used up its count. */
const PACE_MS = 1500
/** Clients that are paced at one time. */
const PACED_MAX = 10_000

/** The stored account of a name. */
interface Account extends ClientAccount {
  readonly disabled: number
}

export interface Judging<A extends Account> {
  readonly realm: Who['realm']
  readonly find: (folded: string) => Promise<A | undefined>
  /**
   * Verifies what the account needs besides the password; a failure counts as a failed password
   * where it is `invalid_credentials`, and leaves the counts as they were otherwise.
   */
  readonly confirm?: (account: A) => Promise<void>
}

/**
 * The account a name and a password open. Throws `invalid_credentials`, one and the same for an
 * unknown name, a wrong password, a disabled account; `rate_limited`; `overloaded`.
 */
export type Judge = <A extends Account>(
  how: Judging<A>,
  username: string,
  password: string,
  client: SignInClient,
) => Promise<A>

export interface JudgeDeps {
  readonly vault: Vault
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly hasher: Hasher
  readonly throttle: Throttle
  readonly recognizedClients: RecognizedClients
}

/** The account name under which `Hasher` knows passwords. */
export const hintName = (realm: Who['realm'], username: string): string =>
  `${realm}:${fold(username)}`

interface Guess extends Who {
  readonly text: string | undefined
  readonly client: SignInClient
}

export function createJudge(deps: JudgeDeps): Judge {
  const { vault, hasher, throttle, recognizedClients } = deps
  const key = vault.key('sign-in')
  const flights = new Map<string, Promise<Account>>()
  const pace = createPace(deps.clock)

  const judged = async <A extends Account>(how: Judging<A>, guess: Guess): Promise<A> => {
    const { realm, username, address, text, client } = guess
    const account = await how.find(username)
    const acquaintance = await recognizedClients.find(realm, account, client)
    const { known } = acquaintance
    const who = { realm, username, address, known }
    const { failures, isExhausted } = await throttle.check(who)
    if (isExhausted) await pace(known!)
    const name = hintName(realm, username)
    const isPreferred =
      (known !== undefined && !isExhausted) || (text !== undefined && hasher.isLikely(name, text))
    const rank = isPreferred ? 0 : 1 + failures
    const turn = { rank, account: name, address: addressBlock(address) }
    const { attempt, isRight } = await hasher.inTurn(turn, async (verify) => {
      const attempt = await throttle.begin(who)
      const verified = verify(text ?? '', account?.password)
      return { attempt, isRight: (await undone(attempt, verified)) && text !== undefined }
    })
    if (!account || !isRight || account.disabled !== 0) {
      throw isExhausted ? tooManyFailures(Math.ceil(PACE_MS / 1000)) : invalidCredentials()
    }
    await confirmed(how, account, attempt)
    hasher.learn(name, text!)
    await throttle.succeeded(attempt, acquaintance.remember)
    return account
  }

  /** The result of the hash; an attempt that ended in an error was none. */
  const undone = async (attempt: Attempt, verified: Promise<boolean>): Promise<boolean> => {
    try {
      return await verified
    } catch (error) {
      await throttle.withdrawn(attempt)
      throw error
    }
  }

  const confirmed = async <A extends Account>(
    { confirm }: Judging<A>,
    account: A,
    attempt: Attempt,
  ): Promise<void> => {
    try {
      await confirm?.(account)
    } catch (error) {
      const isWrong = error instanceof Failure && error.code === 'invalid_credentials'
      if (!isWrong) await throttle.withdrawn(attempt)
      throw error
    }
  }

  return async <A extends Account>(
    how: Judging<A>,
    username: string,
    password: string,
    client: SignInClient,
  ): Promise<A> => {
    const { realm } = how
    const { address, device } = client
    const text = passwordText(password)
    const guess = { realm, username: fold(username), address, text, client }
    // A program that starts sends the same right password many times at once: it is hashed once,
    // and its neighbours are not taken for failed attempts meanwhile.
    const same = JSON.stringify([realm, guess.username, password, address, device])
    const name = createHmac('sha256', key).update(same).digest('latin1')
    const flying = how.confirm ? undefined : flights.get(name)
    if (flying) return (await followed(flying, () => throttle.begin(guess))) as A
    const flight = judged(how, guess).finally(() => flights.delete(name))
    if (!how.confirm) flights.set(name, flight)
    return flight
  }
}

/** The result of the same guess; each that was wrong counts. */
async function followed<A>(flight: Promise<A>, count: () => Promise<unknown>): Promise<A> {
  try {
    return await flight
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_credentials') await count()
    throw error
  }
}

/**
 * A known client that used up its count is not locked out (§3.8), but slowed: one guess in
 * `PACE_MS`, and one that waits. Resolves when the guess may go on; throws `rate_limited`
 * for a third.
 */
function createPace(clock: Pick<Clock, 'elapsedMs'>): (client: string) => Promise<void> {
  const nextMs = new BoundedMap<string, number>(PACED_MAX)
  return async (client) => {
    const now = clock.elapsedMs()
    const atMs = Math.max(nextMs.get(client) ?? 0, now)
    if (atMs - now > PACE_MS) throw tooManyFailures(Math.ceil((atMs - now) / 1000))
    nextMs.set(client, atMs + PACE_MS)
    if (atMs > now) await sleep(atMs - now)
  }
}
