/** Passkeys of the operator (WebAuthn): sign-in and enrolment. Browsers convert the JSON. */
import { send } from '../api.ts'
import { loadSession } from './session.ts'

export interface OwnPasskey {
  readonly id: string
  readonly created_at: string
  readonly last_used_at: string | null
}

/** Whether this browser has passkeys. */
export const hasPasskeys = (): boolean =>
  typeof PublicKeyCredential !== 'undefined' &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function'

const credentialJson = (credential: Credential | null) =>
  (credential as PublicKeyCredential).toJSON()

export async function signInByPasskey(): Promise<void> {
  const path = '/console/login/passkey'
  const { body } = await send<PublicKeyCredentialRequestOptionsJSON>('POST', `${path}/options`, {
    isSignIn: true,
  })
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(body)
  const credential = await navigator.credentials.get({ publicKey })
  await send('POST', path, { body: credentialJson(credential), isSignIn: true })
  await loadSession()
}

export async function createPasskey(): Promise<void> {
  const path = '/console/passkeys'
  const { body } = await send<PublicKeyCredentialCreationOptionsJSON>('POST', `${path}/options`)
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(body)
  const credential = await navigator.credentials.create({ publicKey })
  await send('POST', path, { body: credentialJson(credential) })
}

export const deletePasskey = (id: string) => send('DELETE', `/console/passkeys/${id}`)
