/**
 * Opens sessions of the console (§12.2): by a one-time link, or by a password and the code of the
 * second factor. `operator-openid.ts` opens those of operators with an identity provider.
 */
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { StoredPrincipal } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { Config } from '../../platform/config/config.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Call } from '../../protocol/http/call.ts'
import { readCookie, setCookie } from '../../protocol/http/cookies.ts'
import type { Administration } from '../access/administration.ts'
import type { AccessEnd } from '../access/given-access.ts'
import type { VerifyPassword } from './login.ts'
import { INSTALLATION } from './namespace.ts'
import { lockActiveOperator, takeSession } from './operator-access.ts'
import * as store from './operator-store.ts'
import type { SignInClient } from './recognized-clients.ts'
import type { SecondFactor } from './second-factor.ts'
import { invalidCredentials } from './username.ts'

export const SESSION_LIFE_MS = 12 * 3_600_000
/** A session ends after this time without a request. */
export const IDLE_MS = 30 * 60_000
export const TOKEN_BYTES = 32
export const COOKIE_NAME = 'gatehook_console'

export interface SignInDeps {
  readonly admin: Administration
  readonly secondFactor: SecondFactor
  readonly verifyPassword: VerifyPassword
  /** Whether operators sign in without OpenID Connect (§16.9). */
  readonly passwords: Config['operatorsPasswords']
  /** Whether the administrator who created a link may still create one. */
  readonly mayStillAdminister: (tx: Tx, maker: StoredPrincipal) => Promise<boolean>
  /** Returns when the access of the maker of a link ends, if it has an end. */
  readonly accessEndMs: AccessEnd
}

/** Throws 403 where operators sign in with OpenID Connect alone. */
export function requirePasswords({ passwords }: Pick<SignInDeps, 'passwords'>): void {
  if (passwords !== 'off') return
  throw new Failure('forbidden', 'Operators of this installation sign in with OpenID Connect.')
}

export const sessionCookie = (call: Call, value: string, lifeMs: number): string =>
  setCookie(call, {
    name: COOKIE_NAME,
    value,
    sameSite: 'strict',
    maxAgeS: Math.floor(lifeMs / 1000),
  })

export interface ConsoleSignIn {
  /** Locked in the transaction, so that the end of an access sees the session, or this that end. */
  readonly operator: Pick<store.OperatorRow, 'id' | 'email' | 'disabled'> | null
  readonly link?: store.UsedLink
  /** When the access of the maker of the link ends. Default: it has no end. */
  readonly endMs?: number
  readonly isVerified: boolean
  /** Of OpenID Connect: its issuer, and its tokens, encrypted for the hash of the session. */
  readonly provider?: {
    readonly issuer: string
    readonly encrypt: (hash: Buffer) => Uint8Array
  }
}

/** Returns the function that opens a session in a transaction, and ends that of the browser. */
export const createSessionOpener =
  ({ admin, passwords }: Pick<SignInDeps, 'admin' | 'passwords'>) =>
  async (tx: Tx, call: Call, session: ConsoleSignIn) => {
    const { operator, link, isVerified, provider, endMs = Number.POSITIVE_INFINITY } = session
    const { clock, random } = admin
    if (operator && operator.disabled !== 0) throw invalidCredentials()
    const now = clock.now()
    const token = random.bytes(TOKEN_BYTES).toString('base64url')
    const hash = sha256(token)
    const row = {
      provider_tokens: provider?.encrypt(hash) ?? null,
      claims_read_at: provider ? now : null,
      id: createTimeOrderedId('ses_', now, random),
      operator: operator?.id ?? null,
      link: link?.id ?? null,
      maker_id: link?.maker_id ?? null,
      maker_client: link?.maker_client ?? null,
      maker_session: link?.maker_session ?? null,
      address: call.address,
      verified: Number(isVerified),
      created_at: now,
      expires_at: Math.min(now + IDLE_MS, endMs),
      ends_at: Math.min(now + SESSION_LIFE_MS, endMs),
    }
    // A browser has one session: the new cookie replaces the previous one.
    const previousToken = readCookie(call, COOKIE_NAME)
    const previous =
      previousToken === undefined ? undefined : await takeSession(admin, tx, sha256(previousToken))
    await store.insertSession(tx, { ...row, hash })
    const account = operator ? { id: operator.id, name: operator.email } : { id: link!.id }
    const actor = actorOf(call, { kind: 'operator', ...account })
    const detail = {
      link: row.link,
      session: row.id,
      verified: isVerified,
      ...(provider && { issuer: provider.issuer }),
      ...(previous && { ended: previous.id }),
    }
    const entry = { actor, target: actor.id, detail }
    await recordAudit(tx, { ...entry, action: 'operator.sign_in' }, admin)
    if (passwords === 'break-glass' && !provider) {
      await recordAudit(tx, { ...entry, action: 'operator.break_glass' }, admin)
    }
    return { ...row, token }
  }

/** Returns the session of a request that passed the guard of the console. Throws 401. */
export type RequireSession = (call: Call) => Promise<store.ConsoleSessionRow>

export type OpenedSession = Awaited<ReturnType<ReturnType<typeof createSessionOpener>>>

/** Creates the two ways to open a session: a one-time link, or a password and a code. */
export function createSignIn(deps: SignInDeps) {
  const { admin, verifyPassword, secondFactor, mayStillAdminister, accessEndMs } = deps
  const { db, clock } = admin
  const openSession = createSessionOpener(deps)

  const signInByLink = (call: Call, token: string) => {
    requirePasswords(deps)
    return db.write(async (tx) => {
      const hash = sha256(token)
      const { maker, operator: named } = (await store.findLink(tx, hash)) ?? {}
      // Before the link: the end of an access locks the operator first, too.
      const isValid = !maker || (await mayStillAdminister(tx, JSON.parse(maker)))
      const operator = named ? await lockActiveOperator(tx, named, invalidCredentials) : null
      const link = isValid && (await store.takeLink(tx, hash, clock.now()))
      if (!link) {
        const message = 'The link was used before or has expired: gatehook operators link.'
        throw new Failure('invalid_credentials', message)
      }
      const endMs = maker ? await accessEndMs(tx, JSON.parse(maker)) : undefined
      return openSession(tx, call, {
        ...{ operator, link, isVerified: true },
        ...(endMs !== undefined && { endMs }),
      })
    })
  }

  const signInByPassword = async (
    call: Call,
    client: SignInClient,
    { email, password, code }: { email: string; password: string; code: string | undefined },
  ) => {
    requirePasswords(deps)
    let isVerified = false
    const accounts = {
      realm: 'operator' as const,
      namespace: INSTALLATION,
      find: (foldedName: string) => store.findOperator(db, foldedName),
      async verifySecondFactor({ id, email: name }: store.OperatorRow) {
        const actor = actorOf(call, { kind: 'operator', id, name })
        isVerified = await secondFactor.verify(id, code, actor)
      },
    }
    const operator = await verifyPassword(accounts, email, password, client)
    return db.write(async (tx) => {
      const current = await store.lockOperator(tx, operator.folded)
      // The password, or the second factor, was set or removed since it was verified.
      const isSame = current?.password === operator.password
      if (!isSame || (current.totp !== null) !== isVerified) throw invalidCredentials()
      return openSession(tx, call, { operator: current, isVerified })
    })
  }

  return { signInByLink, signInByPassword }
}
