/** Assembles the verifiers of credentials: one for each scheme. */
import type { CredentialVerifiers } from '../identity/access/authenticate.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import type { Foundation } from './foundation.ts'
import type { SignInModules } from './people.ts'
import type { PreparedDatabase } from './prepare-database.ts'

export function assembleVerifiers(
  { processKeys }: Foundation,
  { keys }: PreparedDatabase,
  { verifyAccessToken }: Pick<Tokens, 'verifyAccessToken'>,
  { verifyBasic, verifyCachedBasic }: SignInModules['people'],
): Readonly<Record<'verifiers' | 'cheapVerifiers', CredentialVerifiers>> {
  const verifiers: CredentialVerifiers = {
    apikey: ({ value }, call) => processKeys?.get(value) ?? keys.verify(value, call),
    bearer: ({ value }, { path }) => verifyAccessToken(value, path),
    basic: verifyBasic,
  }
  // These hash no password: Basic credentials pass only if they were verified a short while ago.
  return { verifiers, cheapVerifiers: { ...verifiers, basic: verifyCachedBasic } }
}
