/**
 * Assembles the request limit, which the pipeline, the batches of resources and the verification
 * for applications (§17.3) apply.
 */
import { ADMIN_SCOPE, AUDIT_SCOPE, METRICS_SCOPE } from '../identity/access/administration.ts'
import { holdsScope } from '../identity/access/scopes.ts'
import { verificationRoute } from '../identity/access/verification.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import { isIdentityScope } from '../identity/tokens/identity-scopes.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Route } from '../protocol/http/call.ts'
import { createReservations } from '../protocol/quota/reservations.ts'
import { createQuota, type Quota } from '../protocol/quota/steps.ts'
import type { Component, Foundation } from './foundation.ts'
import type { PreparedDatabase } from './prepare-database.ts'

/** An application that verifies credentials operates nothing. */
const OPERATING_SCOPES = [ADMIN_SCOPE, METRICS_SCOPE, AUDIT_SCOPE]

export function assembleQuota(
  { config, db, clock, log, primaryFault }: Foundation,
  { keys, administration }: PreparedDatabase,
  tokens: Tokens,
): { readonly quota: Quota; readonly verification: Route; readonly reservations: Component } {
  const { rateLimit } = config
  const rate = rateLimit && { limit: rateLimit.limit, windowMs: rateLimit.windowS * 1000 }
  const isPrimaryAway = () => primaryFault() !== undefined
  const isOperating = ({ kind, scopes }: Principal) =>
    kind === 'operator' || OPERATING_SCOPES.some((scope) => scopes.has(scope))
  const quota = createQuota({ db, clock, rate, holdsScope, isPrimaryAway, isOperating })
  const isDeclared = (scope: string) => administration.scopes.has(scope) || isIdentityScope(scope)
  const reservations = createReservations(quota.release, log)
  tokens.onCustomerChange(reservations.releaseOf)
  const verification = verificationRoute({ keys, tokens, quota, log, isDeclared })
  return { quota, verification, reservations }
}
