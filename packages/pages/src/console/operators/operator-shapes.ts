/** Operators of the console as the API returns them, and the words for their roles. */
import type { Operator } from '../admin-types.ts'

export type OperatorRow = Operator

/** Operators can sign in with a password of this length, in characters. */
export const PASSWORD_MIN = 12

export const ROLE_MEANINGS: Readonly<Record<OperatorRow['role'], string>> = {
  viewer: 'reads everything, and changes nothing',
  support: 'changes keys, webhooks and deliveries',
  administrator: 'changes everything',
}

/** The roles as choices of a select. */
export const ROLE_OPTIONS = Object.entries(ROLE_MEANINGS).map(
  ([role, meaning]) => [role, `${role}: ${meaning}`] as const,
)
