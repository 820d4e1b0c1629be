/**
 * Which scopes a consent covers (§5.2, §16.4). The consent to a client that describes itself
 * belongs to its redirect URI, and ends when its name or its redirect URIs change. Pure.
 */
import { sha256 } from '../../kernel/secret.ts'
import type { OauthClient } from './client.ts'
import type { ConsentRedirects } from './consent-store.ts'
import { isAuthenticated } from './redirect-uri.ts'

interface GivenConsent {
  readonly scopes: readonly string[]
  readonly redirects?: ConsentRedirects | undefined
}

/** Identifies what the consent page said about a client. */
export const descriptionOf = ({ name, redirectUris }: OauthClient): string =>
  sha256(JSON.stringify([name, redirectUris])).toString('base64url')

/** Returns the scopes that a consent covers at a redirect URI; undefined: there is none. */
export function coveredScopes(
  consent: GivenConsent | undefined,
  client: OauthClient,
  redirectUri: string,
): readonly string[] | undefined {
  if (!client.describesItself) return consent?.scopes
  const redirects = consent?.redirects
  if (redirects?.description !== descriptionOf(client)) return undefined
  return Object.hasOwn(redirects.scopes, redirectUri) ? redirects.scopes[redirectUri] : undefined
}

/** Returns the consent with scopes that the person has granted now. */
export function extendConsent(
  consent: GivenConsent | undefined,
  client: OauthClient,
  redirectUri: string,
  scopes: readonly string[],
): GivenConsent {
  const covered = coveredScopes(consent, client, redirectUri) ?? []
  const union = [...new Set([...covered, ...scopes])]
  if (!client.describesItself) return { scopes: union }
  const description = descriptionOf(client)
  const isSame = consent?.redirects?.description === description
  const byRedirect = {
    ...(isSame && consent?.redirects?.scopes),
    // Any program of a device can use its ports: the person consents each time (§16.3).
    ...(isAuthenticated(redirectUri) && { [redirectUri]: union }),
  }
  const all = [...new Set([...Object.values(byRedirect).flat(), ...union])]
  return { scopes: all, redirects: { description, scopes: byRedirect } }
}
