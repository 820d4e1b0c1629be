/** Identifies the callers of open streams. */
import {
  type CredentialVerifiers,
  type Identify,
  identify,
} from '../identity/access/authenticate.ts'
import type { Foundation } from './foundation.ts'
import type { SignInModules } from './people.ts'

interface IdentityModules {
  readonly sessions: Pick<SignInModules['sessions'], 'identifyOr'>
  readonly verifiers: CredentialVerifiers
}

/**
 * Returns a function that identifies the caller of an open stream by the state that other nodes
 * have changed. A stream sends no requests, so that its node would poll as an idle one does.
 */
export const identifyStream = (
  { poll }: Pick<Foundation, 'poll'>,
  { sessions, verifiers }: IdentityModules,
): Identify => {
  const identifyCaller = sessions.identifyOr(identify(verifiers))
  return async (call) => {
    await poll.refresh()
    return identifyCaller(call)
  }
}
