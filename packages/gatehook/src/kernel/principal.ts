/** Who a credential proved to be (decisions §1). The whole house says it: it lives at its floor. */
export type Mode = 'live' | 'test'

export interface Principal {
  /** Customer id, `cus_…`. */
  readonly customer: string
  readonly mode: Mode
  /** The number that stands first in every stored row and index: see `scopeOf`. */
  readonly scope: Scope
  readonly kind: 'key' | 'client' | 'person' | 'operator'
  /** A person's token that a third-party client holds: not of a first-party session (§4.5). */
  readonly thirdParty?: true
  /** §3.7: a key's id, a client's id, or the person's row id as a string. */
  readonly subject: string
  /** The name of the key or person, or an operator's e-mail, where it costs no look-up. */
  readonly name?: string
  readonly scopes: ReadonlySet<string>
  readonly keyId?: string
  readonly clientId?: string
  readonly sessionId?: string
  /** The version this credential is pinned to, for example `v1`. */
  readonly version?: string
  /** The customer's own request limit, where it has one (§11.3). */
  readonly rate?: { readonly limit: number; readonly windowMs: number }
  /** The customer's own total over all of its credentials, where it has one (§11.3). */
  readonly totalRate?: { readonly limit: number; readonly windowMs: number }
}

/** The kinds of caller that `route-table.ts` distinguishes. */
export type CallerKind = Principal['kind'] | 'application'

/** Returns the kind of a caller; `application` is a third-party client acting for a person. */
export const callerKind = (principal: Principal): CallerKind =>
  principal.thirdParty ? 'application' : principal.kind

/**
 * Customer and mode in one integer: `2 * customer number + (live ? 1 : 0)`. One column, eight
 * bytes, first in every key and index: two customers, or two modes of one, can never meet (§1.1).
 */
export type Scope = number & { readonly scope: unique symbol }

export const scopeOf = (customerNo: number, mode: Mode): Scope =>
  (customerNo * 2 + (mode === 'live' ? 1 : 0)) as Scope

/** The customer's number, of live and test mode alike. */
export const customerNoOf = (scope: Scope): number => Math.floor(scope / 2)

export const modeOf = (scope: Scope): Mode => (scope % 2 === 1 ? 'live' : 'test')
