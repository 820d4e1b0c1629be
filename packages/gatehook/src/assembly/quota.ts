/**
 * Assembles the request limit, which the pipeline, the batches of resources and the verification
 * for applications (§17.3) apply.
 */
import { holdsScope } from '../identity/access/scopes.ts'
import { verificationRoute } from '../identity/access/verification.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import { isIdentityScope } from '../identity/tokens/identity-scopes.ts'
import type { Route } from '../protocol/http/call.ts'
import { createReservations } from '../protocol/quota/reservations.ts'
import { createQuota, type Quota } from '../protocol/quota/steps.ts'
import type { Component, Foundation } from './foundation.ts'
import type { PreparedDatabase } from './prepare-database.ts'

export function assembleQuota(
  { config, db, clock, log, primaryFault }: Foundation,
  { keys, administration }: PreparedDatabase,
  tokens: Tokens,
): { readonly quota: Quota; readonly verification: Route; readonly reservations: Component } {
  const { rateLimit } = config
  const rate = rateLimit && { limit: rateLimit.limit, windowMs: rateLimit.windowS * 1000 }
  const isPrimaryAway = () => primaryFault() !== undefined
  const quota = createQuota({ db, clock, rate, holdsScope, isPrimaryAway })
  const isDeclared = (scope: string) => administration.scopes.has(scope) || isIdentityScope(scope)
  const reservations = createReservations(quota.release, log)
  tokens.onCustomerChange(reservations.releaseOf)
  const verification = verificationRoute({ keys, tokens, quota, log, isDeclared })
  return { quota, verification, reservations }
}
