/**
 * Steps of the pipeline: who is calling (§3.1), and whether they may (§3.6). How a credential is
 * verified is a row of `Verifiers`; nobody without one of its schemes gets further.
 */
import type { After, Call, Step } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { callerKind, type Principal } from '../kernel/principal.ts'
import { type Credential, credentialOf, type Scheme } from './credential.ts'
import { holdsScope, missingScope } from './scopes.ts'

/** Proves a credential, or throws a `Failure` with its challenge. */
export type Verifier = (credential: Credential, call: Call) => Principal | Promise<Principal>

export type Verifiers = Readonly<Record<Scheme, Verifier>>

const INSECURE = {
  type: 'insecure_credential',
  message: 'An API key in a URL ends up in logs and histories. Send it in the header X-API-Key.',
} as const

export interface AuthenticateOptions {
  readonly verifiers: Verifiers
  /** Base of absolute links, without a slash at the end; known once the service listens. */
  readonly publicUrl: () => string
  /** Called with the principal once the request may go on. */
  readonly used?: (principal: Principal) => void
}

/**
 * Sets `call.principal` where the operation takes a credential. Throws where the one sent is not
 * valid, also where `recognize` found that before, and where none was sent but one is required.
 */
export function authenticate(options: AuthenticateOptions): Step {
  const verify = verifying(options)
  const { used = () => {} } = options
  return (call) => {
    if (call.refusal) throw call.refusal
    if (call.principal) return used(call.principal)
    const pending = verify(call)
    if (pending instanceof Promise)
      return pending.then(() => call.principal && used(call.principal))
    return call.principal && used(call.principal)
  }
}

/** Verifies the credential of a call whose operation takes one. */
export function verifying({ verifiers, publicUrl }: AuthenticateOptions): Step {
  const challenge = () => {
    const metadata = `${publicUrl()}/.well-known/oauth-protected-resource`
    return { 'WWW-Authenticate': `ApiKey, Bearer resource_metadata="${metadata}"` }
  }
  const present = (call: Call, required: boolean): Credential | undefined => {
    try {
      const credential = credentialOf(call)
      if (credential || !required) return credential
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unauthorized') throw error
      throw new Failure('unauthorized', error.message, { headers: challenge() })
    }
    throw new Failure('unauthorized', undefined, { headers: challenge() })
  }
  return (call) => {
    const required = call.operation?.authenticated ?? true
    if (!call.operation || required === false) return undefined
    const credential = present(call, required !== 'optional')
    if (!credential) return undefined
    if (credential.inUrl) call.warnings.push(INSECURE)
    const principal = verifiers[credential.scheme](credential, call)
    if (!(principal instanceof Promise)) {
      call.principal = principal
      return undefined
    }
    return principal.then((late) => {
      call.principal = late
    })
  }
}

/**
 * The step before the request limit: sets `call.principal`, or `call.refusal` where the credential
 * fails, and throws neither. `verify` hashes no password: a Basic pair that is not cached sets
 * neither of the two, and `authenticate` verifies it after the limit. Paths and methods that do not
 * exist are answered without a credential, but counted for the caller that `identify` names.
 */
export function recognize(verify: Step, identify: Identify): Step {
  const fail = (call: Call, error: unknown): void => {
    call.principal = undefined
    if (!(error instanceof Failure)) throw error
    if (error.code !== 'invalid_credentials') call.refusal = error
  }
  const found = (call: Call, principal: Principal | undefined): void => {
    call.principal = principal
    call.recognized = principal
  }
  return (call) => {
    if (!call.operation) {
      const known = identify(call)
      return known instanceof Promise
        ? known.then((principal) => found(call, principal))
        : found(call, known)
    }
    try {
      const pending = verify(call)
      if (!(pending instanceof Promise)) return found(call, call.principal)
      return pending.then(
        () => found(call, call.principal),
        (error: unknown) => fail(call, error),
      )
    } catch (error) {
      return fail(call, error)
    }
  }
}

/** Who sent a call, as far as it can be told without cost or judgement; undefined: anybody. */
export type Identify = (call: Call) => Principal | undefined | Promise<Principal | undefined>

/**
 * Names the caller of a request that is turned away whoever it is (§8.7): a credential that does
 * not verify is nobody's, and nothing is thrown. `verifiers`: those that hash no password.
 */
export function identify(verifiers: Partial<Verifiers>): Identify {
  return (call) => {
    try {
      const credential = credentialOf(call)
      const principal = credential && verifiers[credential.scheme]?.(credential, call)
      return principal instanceof Promise ? principal.catch(anybody) : principal
    } catch (error) {
      return anybody(error)
    }
  }
}

function anybody(error: unknown): undefined {
  if (!(error instanceof Failure)) throw error
}

/**
 * Nobody keeps the answer to a URL with a key in it (§3.3), not even where none was asked for. A
 * step of the way out.
 */
export const urlCredential: After = (call, answer) => {
  if (!call.query.entries.some(([name]) => name === 'api_key')) return
  answer.headers = { ...answer.headers, 'cache-control': 'private, no-store' }
}

/**
 * Rejects a principal of a kind that the operation does not accept, with 403 `first_party_required`
 * (§4.5) or `forbidden`, and one that lacks its scope, with 403 `insufficient_scope` naming it.
 */
export const authorize: Step = (call) => {
  if (!call.operation) return
  const { callers, scope } = call.operation
  if (callers && call.principal && !callers.includes(callerKind(call.principal))) {
    throw wrongCaller(call.principal)
  }
  if (scope === undefined) return
  if (!call.principal) throw new Error(`${call.route} asks for a scope but for no credential`)
  if (!holdsScope(call.principal, scope)) throw missingScope(scope)
}

/** A token of a client is one that a first-party session could replace; a key is not. */
const wrongCaller = ({ clientId }: Principal): Failure =>
  clientId === undefined
    ? new Failure('forbidden', 'This endpoint does not accept this kind of credential.')
    : new Failure('first_party_required')
