/** The operator's session: exchange of the link, sign-in, sign-out. */
import { signal } from '@preact/signals'
import { ApiFailure, isSessionOver, send, sessionEpoch } from '../api.ts'
import { setServerTime } from '../clock.ts'
import { removeHash } from '../router.ts'

/** The roles of operators, in ascending order of permissions. */
const ROLES = ['viewer', 'support', 'administrator'] as const
type Role = (typeof ROLES)[number]

export interface Session {
  /** Null in the session of a link before an operator exists. */
  readonly operator: string | null
  readonly email: string | null
  /** Null in the session of a link without an operator: it permits everything. */
  readonly role?: Role | null
  readonly expires_at: string
  readonly ends_at: string
  readonly second_factor: 'verified' | 'enrolment_required'
}

/** Undefined: not loaded; null: no session. */
export const session = signal<Session | null | undefined>(undefined)

/** Returns whether the operator has this role or a higher one. */
export const mayChange = (role: Role): boolean =>
  ROLES.indexOf(session.value?.role ?? 'administrator') >= ROLES.indexOf(role)

const PATH = '/console/session'

/** Ranges of time are in the time of the server. */
async function adoptServerTime(): Promise<void> {
  const request = send<{ readonly now: string }>('GET', '/admin/system', { isSignIn: true })
  // A session without a second factor cannot read it.
  const reply = await request.catch(() => undefined)
  if (reply) setServerTime(reply.body.now)
}

/** Loads the session after it began or changed; parts then load their data. */
export async function loadSession(): Promise<Session | null> {
  try {
    const { body } = await send<Session>('GET', PATH, { isSignIn: true })
    await adoptServerTime()
    session.value = body
    isSessionOver.value = false
    sessionEpoch.value++
    return body
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 401) throw error
    session.value = null
    return null
  }
}

/** Takes the token of a one-time link out of the address, before anything else runs. */
export function takeLinkToken(): string | undefined {
  const [, token] = /[#&]token=([^&]+)/.exec(location.hash) ?? []
  if (location.hash !== '') removeHash()
  return token === undefined ? undefined : decodeURIComponent(token)
}

export async function exchangeLink(token: string): Promise<void> {
  await send('POST', PATH, { body: { token }, isSignIn: true })
  await loadSession()
}

export interface Credentials {
  readonly email: string
  readonly password: string
  readonly code?: string | undefined
}

export async function signIn(credentials: Credentials): Promise<void> {
  await send('POST', PATH, { body: credentials, isSignIn: true })
  await loadSession()
}

export async function signOut(): Promise<void> {
  await send('DELETE', PATH, { isSignIn: true })
  session.value = null
  isSessionOver.value = false
}

/** Creates the operator of a session that a link opened. */
export async function createOperator(email: string, password: string): Promise<void> {
  await send('POST', `${PATH}/operator`, { body: { email, password }, isSignIn: true })
  await loadSession()
}

export interface Enrolment {
  /** The address for an authenticator app. */
  readonly uri: string
  readonly secret: string
}

export const enrolSecondFactor = async (): Promise<Enrolment> =>
  (await send<Enrolment>('POST', `${PATH}/second-factor`, { isSignIn: true })).body

/** Confirms the enrolment by its first code; returns the recovery codes, which appear once. */
export async function confirmSecondFactor(code: string): Promise<readonly string[]> {
  const { body } = await send<{ recovery_codes: string[] }>('PUT', `${PATH}/second-factor`, {
    body: { code },
    isSignIn: true,
  })
  return body.recovery_codes
}
