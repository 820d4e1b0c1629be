/** The words of the pages of an authorization about its client. Pure. */
import type { Person } from '../people/person.ts'
import type { RedirectTarget } from './authorization-request.ts'
import type { StoredConsent } from './consent-store.ts'
import { displayHost } from './redirect-uri.ts'

/** The client by its host if its name is its own claim (§16.4). */
export const describeClient = ({
  client: { id, name, source, describesItself },
  redirectUri,
}: RedirectTarget) => {
  if (!describesItself) return { client: name }
  const host = source === 'document' ? new URL(id).host : displayHost(redirectUri)
  return { client: host, claimedName: name }
}

/** Returns the hosts that the consent pages named, of a client whose name is its own claim. */
export function claimantHosts({ clientId, redirects }: StoredConsent): readonly string[] {
  if (!redirects) return []
  if (URL.canParse(clientId)) return [new URL(clientId).host]
  return [...new Set(Object.keys(redirects.scopes).map(displayHost))]
}

/** Explains why a person of another customer or mode cannot use the client (§4.8). */
export function describeMismatch(
  { client }: Pick<RedirectTarget, 'client'>,
  { username, customer, mode }: Person,
): string {
  const remedy = 'Sign in with another account.'
  if (client.customer !== undefined && customer !== client.customer) {
    return `${username} belongs to another organization than ${client.name}. ${remedy}`
  }
  return `${client.name} is for ${client.mode} accounts; ${username} is a ${mode} one. ${remedy}`
}
