/**
 * Which client is calling, and whether it proved it (RFC 6749 §2.3): by Basic, in the body, or, for
 * a public client, by its name alone. Exactly one way.
 */
import { BASIC_CHALLENGE, parseAuthorization, parseClientBasic } from '../http/authorization.ts'
import type { Call } from '../http/call.ts'
import { headerLines } from '../http/header.ts'
import type { Clock } from '../kernel/clock.ts'
import { type Client, holdsSecret } from './client.ts'
import type { Parameters } from './form.ts'
import type { Guesses } from './guesses.ts'
import type { KnownClients } from './known-clients.ts'
import { Refusal } from './refusal.ts'

export const AUTHENTICATION_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const

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
  const sent = headerLines(rawHeaders, 'authorization')
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
  const { scheme, value } = parseAuthorization(sent[0])
  const pair = scheme === 'basic' ? parseClientBasic(value) : undefined
  if (!pair) throw new Refusal('invalid_client', 'This is no Basic credential.', CHALLENGE)
  if (id !== undefined && id !== pair.username) {
    throw new Refusal('invalid_request', 'Header and body name different clients.')
  }
  return { id: pair.username, secret: pair.password, byBasic: true }
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
    const { customer, mode } = client
    call.identified = { kind: 'client', subject: client.id, clientId: client.id, customer, mode }
    if (client.suspended) throw new Refusal('unauthorized_client', 'This account is suspended.')
    return client
  }
}
