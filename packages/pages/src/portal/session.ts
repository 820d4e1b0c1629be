/** The session of the portal: exchange of a link, sign-in of a person, sign-out. */
import { signal } from '@preact/signals'
import { ApiFailure, isSessionOver, send, sessionEpoch } from '../api.ts'
import { removeHash } from '../router.ts'
import type { PortalSession } from './platform-types.ts'

/** Undefined: not loaded; null: no session. */
export const session = signal<PortalSession | null | undefined>(undefined)

const PATH = '/portal/session'

function adopt(body: PortalSession): void {
  session.value = body
  isSessionOver.value = false
  sessionEpoch.value++
}

/** Takes the token of a one-time link out of the address, before anything else runs. */
export function takeLinkToken(): string | undefined {
  const [, token] = /[#&]token=([^&]+)/.exec(location.hash) ?? []
  if (token !== undefined) removeHash()
  return token
}

export async function loadSession(): Promise<void> {
  try {
    adopt((await send<PortalSession>('GET', PATH, { isSignIn: true })).body)
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 401) throw error
    session.value = null
  }
}

interface PasswordProof {
  readonly username: string
  readonly password: string
  /** The id of a customer, where sign-in names are unique per customer. */
  readonly customer?: string
  readonly mode?: string
}

type Proof = { readonly token: string } | PasswordProof

export const openSession = async (body: Proof): Promise<void> =>
  adopt((await send<PortalSession>('POST', PATH, { body, isSignIn: true })).body)

export async function signOut(): Promise<void> {
  await send('DELETE', PATH, { isSignIn: true })
  session.value = null
}
