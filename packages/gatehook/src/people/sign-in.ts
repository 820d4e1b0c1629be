/**
 * A name and a password are judged (§3.8): throttled before, and as long for nobody as for
 * somebody. Basic, login and the sign-in page all come through here.
 */
import { createHmac } from 'node:crypto'
import { Failure } from '../kernel/failure.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Hasher } from './password.ts'
import type { Throttle, Who } from './throttle.ts'
import { fold, invalidCredentials, passwordText } from './username.ts'

/** What is stored of who may have the name. */
interface Account {
  readonly password: string
  readonly disabled: number
}

export interface Judging<A extends Account> {
  readonly realm: Who['realm']
  readonly find: (folded: string) => Promise<A | undefined>
}

/**
 * The account a name and password open. Throws `invalid_credentials`, one and the same for an
 * unknown name, a wrong password, a disabled account; `rate_limited`; `overloaded`.
 */
export type Judge = <A extends Account>(
  how: Judging<A>,
  username: string,
  password: string,
  address: string,
) => Promise<A>

export interface JudgeDeps {
  readonly vault: Vault
  readonly hasher: Hasher
  readonly throttle: Throttle
}

export function createJudge({ vault, hasher, throttle }: JudgeDeps): Judge {
  const key = vault.key('sign-in')
  const flights = new Map<string, Promise<Account>>()

  const judged = async <A extends Account>(
    { find }: Judging<A>,
    who: Who,
    password: string,
  ): Promise<A> => {
    const attempt = await throttle.begin(who)
    let account: A | undefined
    let right: boolean
    try {
      account = await find(who.username)
      const text = passwordText(password)
      right = (await hasher.verify(text ?? '', account?.password)) && text !== undefined
    } catch (error) {
      await throttle.withdrawn(attempt)
      throw error
    }
    if (!account || !right || account.disabled !== 0) throw invalidCredentials()
    await throttle.succeeded(attempt)
    return account
  }

  return async <A extends Account>(
    how: Judging<A>,
    username: string,
    password: string,
    address: string,
  ): Promise<A> => {
    const who = { realm: how.realm, username: fold(username), address }
    // A program that starts sends the same good password many times at once: it is hashed once,
    // and its neighbours are not taken for failed attempts meanwhile.
    const text = JSON.stringify([who.realm, who.username, password, address])
    const name = createHmac('sha256', key).update(text).digest('latin1')
    const flying = flights.get(name)
    if (flying) return (await followed(flying, () => throttle.begin(who))) as A
    const flight = judged(how, who, password).finally(() => flights.delete(name))
    flights.set(name, flight)
    return flight
  }
}

/** What came of the same guess; each that was wrong counts. */
async function followed<A>(flight: Promise<A>, count: () => Promise<unknown>): Promise<A> {
  try {
    return await flight
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_credentials') await count()
    throw error
  }
}
