/**
 * What persons and strangers can do with the rows of a resource, as sentences for the lock (§8.11).
 * The text of a sentence never changes: locks of earlier releases contain it. Pure.
 */
import type { ApiResource } from './api-resources.ts'
import { owningField } from './ownership.ts'
import { PUBLIC } from './scopes.ts'

/** @param personScopes the default scopes of a person */
export function promisedReach(definition: ApiResource, personScopes: readonly string[]): string[] {
  const { access, signsIn } = definition
  const isOwned = signsIn !== undefined || owningField(definition) !== undefined
  const readsAll = access.persons !== undefined || access.read === PUBLIC
  const changesAll = access.persons === 'write'
  return [
    ...(isOwned || readsAll ? ['persons read their rows'] : []),
    ...(isOwned || changesAll ? ['persons change their rows'] : []),
    ...(readsAll ? ['persons read every row'] : []),
    ...(changesAll ? ['persons change every row'] : []),
    ...(signsIn ? personScopes.map((scope) => `persons have the scope ${scope} by default`) : []),
    ...(signsIn?.names === 'installation' ? ['persons sign in without the id of a customer'] : []),
    ...(signsIn?.signUp ? ['strangers sign up'] : []),
    ...(signsIn?.signUp?.scopes ?? [])
      .filter((scope) => !personScopes.includes(scope))
      .map((scope) => `an account of a sign-up has the scope ${scope}`),
    ...(signsIn?.passwordReset ? ['persons reset their passwords by mail'] : []),
  ]
}

/** Returns limits of accounts of sign-ups as sentences; a new one is a break. */
export function promisedLimits(
  { signsIn }: ApiResource,
  personScopes: readonly string[],
): readonly string[] {
  const { scopes } = signsIn?.signUp ?? {}
  if (!scopes) return []
  return personScopes
    .filter((scope) => !scopes.includes(scope))
    .map((scope) => `an account of a sign-up lacks the scope ${scope}`)
}
