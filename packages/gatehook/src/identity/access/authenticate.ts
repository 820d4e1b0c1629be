/**
 * Pipeline steps that authenticate the caller (§3.1) and authorize the request (§3.6). Each scheme
 * has its row in `CredentialVerifiers`.
 */

import { Failure } from '../../kernel/failure.ts'
import { callerKind, hasRole, type Principal } from '../../kernel/principal.ts'
import type { After, Call, Step } from '../../protocol/http/call.ts'
import { type Credential, parseCredential, type Scheme } from './credential.ts'
import { holdsScope, missingRole, missingScope } from './scopes.ts'

/** Verifies a credential, or throws a `Failure` with its challenge. */
export type CredentialVerifier = (
  credential: Credential,
  call: Call,
) => Principal | Promise<Principal>

export type CredentialVerifiers = Readonly<Record<Scheme, CredentialVerifier>>

const INSECURE = {
  type: 'insecure_credential',
  message: 'Logs and histories record an API key in a URL. Send it in the header X-API-Key.',
} as const

interface AuthenticateOptions {
  readonly verifiers: CredentialVerifiers
  /** Called with the principal of each request that passes. */
  readonly onUse?: (principal: Principal) => void
}

/**
 * Returns the step that sets `call.principal` if the operation accepts a credential. It throws
 * for an invalid credential, also one that `recognize` rejected, and for a missing one.
 */
export function authenticate(options: AuthenticateOptions): Step {
  const verify = verifyCredential(options)
  const { onUse = () => {} } = options
  return (call) => {
    if (call.refusal) throw call.refusal
    if (call.principal) return onUse(call.principal)
    const pending = verify(call)
    if (pending instanceof Promise) {
      return pending.then(() => call.principal && onUse(call.principal))
    }
    return call.principal && onUse(call.principal)
  }
}

/** Returns the step that verifies the credential of a request whose operation accepts one. */
export function verifyCredential({ verifiers }: Pick<AuthenticateOptions, 'verifiers'>): Step {
  return (call) => {
    const authenticated = call.operation?.authenticated ?? true
    if (!call.operation || authenticated === false) return undefined
    const credential = parseCredential(call)
    if (!credential && authenticated !== 'optional') throw new Failure('unauthorized')
    if (!credential) return undefined
    if (credential.inUrl) call.warnings.push(INSECURE)
    const principal = verifiers[credential.scheme](credential, call)
    if (!(principal instanceof Promise)) {
      call.principal = principal
      return undefined
    }
    return principal.then((resolved) => {
      call.principal = resolved
    })
  }
}

/**
 * Returns the step before the request limit. It sets `call.principal`, or `call.refusal` if the
 * credential is invalid, and throws neither. `verify` hashes no password: `authenticate` verifies a
 * Basic pair that is not cached, after the limit. Unknown paths and methods need no credential;
 * their requests count for the caller that `identify` returns.
 */
export function recognize(verify: Step, identify: Identify): Step {
  const setRefusal = (call: Call, error: unknown): void => {
    call.principal = undefined
    if (!(error instanceof Failure)) throw error
    if (error.code !== 'invalid_credentials') call.refusal = error
  }
  const setPrincipal = (call: Call, principal: Principal | undefined): void => {
    call.principal = principal
    call.recognized = principal
  }
  return (call) => {
    if (!call.operation) {
      const caller = identify(call)
      return caller instanceof Promise
        ? caller.then((principal) => setPrincipal(call, principal))
        : setPrincipal(call, caller)
    }
    try {
      const pending = verify(call)
      if (!(pending instanceof Promise)) return setPrincipal(call, call.principal)
      return pending.then(
        () => setPrincipal(call, call.principal),
        (error: unknown) => setRefusal(call, error),
      )
    } catch (error) {
      return setRefusal(call, error)
    }
  }
}

/**
 * Identifies the caller without password hashing or rejection; returns undefined for an
 * unauthenticated caller.
 */
export type Identify = (call: Call) => Principal | undefined | Promise<Principal | undefined>

/**
 * Identifies the caller of a request that is rejected for any caller (§8.7): an invalid credential
 * yields undefined. Throws `storage_unavailable` if it cannot be verified. `verifiers` contains
 * those that hash no password.
 */
export function identify(verifiers: Partial<CredentialVerifiers>): Identify {
  return (call) => {
    try {
      const credential = parseCredential(call)
      const principal = credential && verifiers[credential.scheme]?.(credential, call)
      return principal instanceof Promise ? principal.catch(ignoreFailure) : principal
    } catch (error) {
      return ignoreFailure(error)
    }
  }
}

/** Ignores what the caller did wrong, and not that the database does not answer. */
function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof Failure) || error.status >= 500) throw error
}

/**
 * Step on the response: a request with a key in its URL gets `Cache-Control: private, no-store`
 * (§3.3), also if the path requires no key.
 */
export const urlCredential: After = (call, answer) => {
  if (!call.query.entries.some(([name]) => name === 'api_key')) return
  answer.headers = { ...answer.headers, 'cache-control': 'private, no-store' }
}

/**
 * Rejects a principal of a kind that the operation does not accept, with 403 `first_party_required`
 * (§4.5) or `forbidden`; one that lacks its scope, with 403 `insufficient_scope`; an operator of a
 * lesser role, with 403 `insufficient_role`.
 */
export const authorize: Step = (call) => {
  if (!call.operation) return
  const { callers, scope, role } = call.operation
  if (callers && call.principal && !callers.includes(callerKind(call.principal))) {
    // A first-party session can replace the token of a client, but not a key.
    throw call.principal.clientId === undefined
      ? new Failure('forbidden', 'This endpoint does not accept this kind of credential.')
      : new Failure('first_party_required')
  }
  if (role && call.principal && !hasRole(call.principal, role)) throw missingRole(role)
  if (scope === undefined) return
  if (!call.principal) throw new Error(`${call.route} requires a scope but no credential`)
  if (!holdsScope(call.principal, scope)) throw missingScope(scope)
}
