/** Operators of the console as the API returns them, and the words for their roles. */
import type { Operator } from '../admin-types.ts'

export type OperatorRow = Operator

export const ROLE_MEANINGS: Readonly<Record<OperatorRow['role'], string>> = {
  viewer: 'reads everything, and changes nothing',
  support: 'changes keys, webhooks and deliveries',
  administrator: 'changes everything',
}
