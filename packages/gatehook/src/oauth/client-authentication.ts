/**
 * Which client is calling, and whether it proved it (RFC 6749 §2.3): by Basic, in the body, or, for
 * a public client, by its name alone. Exactly one way.
 */
import type { Call } from '../http/call.ts'
import { BASIC_CHALLENGE } from '../kernel/challenge.ts'
import type { Clock } from '../kernel/clock.ts'
import { type Client, holdsSecret } from './client.ts'
import type { Parameters } from './form.ts'
import type { Guesses } from './guesses.ts'
import type { KnownClients } from './known-clients.ts'
import { Refusal } from './refusal.ts'

export const AUTHENTICATION_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const

const AUTHORIZATION = 'authorization'
const CHALLENGE = { 'www-authenticate': BASIC_CHALLENGE }

/** What a request says of its client. */
export interface ClientCredential {
  readonly id: string
  /** Undefined where only the name was sent. */
  readonly secret: string | undefined
  readonly byBasic: boolean
}

/**
 * Throws `invalid_request` for two ways at once and for none, `invalid_client` for a header that is
 * no Basic credential. Pure.
 */
export function clientCredential(
  rawHeaders: readonly string[],
  parameters: Parameters,
): ClientCredential {
  const sent: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION) {
      sent.push(rawHeaders[at + 1]!)
    }
  }
  const id = parameters.get('client_id')
  const secret = parameters.get('client_secret')
  if (sent.length > 1) throw new Refusal('invalid_request', 'Authorization stands twice.')
  if (sent[0] === undefined) {
    if (id === undefined) throw new Refusal('invalid_client', 'No client was named.')
    return { id, secret, byBasic: false }
  }
  if (secret !== undefined) {
    throw new Refusal('invalid_request', 'The client proves itself in the header or in the body.')
  }
  const named = fromBasic(sent[0])
  if (!named) throw new Refusal('invalid_client', 'This is no Basic credential.', CHALLENGE)
  if (id !== undefined && id !== named.id) {
    throw new Refusal('invalid_request', 'Header and body name different clients.')
  }
  return { ...named, byBasic: true }
}

/** RFC 6749 §2.3.1: both halves are form-urlencoded before they are joined. */
function fromBasic(header: string): { id: string; secret: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1]
  const pair = encoded && Buffer.from(encoded, 'base64').toString('latin1')
  const colon = pair ? pair.indexOf(':') : -1
  if (!pair || colon < 0) return undefined
  const [id, secret] = [decoded(pair.slice(0, colon)), decoded(pair.slice(colon + 1))]
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

function decoded(text: string): string | undefined {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** Gives the client of a call, proved as far as it can be. */
export type AuthenticateClient = (call: Call, parameters: Parameters) => Promise<Client>

export interface ClientAuthenticationDeps {
  readonly clients: KnownClients
  readonly guesses: Guesses
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Throws `invalid_client`, one and the same for an unknown client, a wrong secret, none where one
 * is needed, and one where none can be; `rate_limited` after many of these; `unauthorized_client`
 * where the client's customer is suspended.
 */
export function clientAuthentication(deps: ClientAuthenticationDeps): AuthenticateClient {
  const { clients, guesses, clock } = deps
  return async (call, parameters) => {
    const { id, secret, byBasic } = clientCredential(call.rawHeaders, parameters)
    guesses.refuse(id, call.address)
    const client = await clients.find(id)
    const proved =
      client !== undefined &&
      (client.isPublic
        ? secret === undefined
        : secret !== undefined && holdsSecret(client, secret, clock.now()))
    if (!proved) {
      guesses.failed(id, call.address)
      const headers = byBasic ? CHALLENGE : {}
      throw new Refusal('invalid_client', 'The client did not prove itself.', headers)
    }
    if (client.suspended) throw new Refusal('unauthorized_client', 'This account is suspended.')
    return client
  }
}
