/**
 * The owner of the unread bytes, arriving bodies, streams and turns of a request (§11.5, decision
 * 0084). The keys and clients of a mode of a customer are a group, its persons are another one,
 * because they may be strangers, and operators are a group of their own.
 */
import { addressBlock } from '../../kernel/address.ts'
import type { BudgetOwner } from '../../kernel/budget.ts'
import { addressGroup, backendGroup, personGroup } from '../../kernel/caller-group.ts'
import { callerName, type Principal } from '../../kernel/principal.ts'
import type { Call } from './call.ts'

const owners = new WeakMap<Principal, BudgetOwner>()

/** Returns the owner: the credential of the request, or the address block of its client. */
export function ownerOf({ principal, address }: Pick<Call, 'principal' | 'address'>): BudgetOwner {
  if (principal) return ownerOfPrincipal(principal)
  const group = addressGroup(addressBlock(address))
  return { group, caller: group }
}

export function ownerOfPrincipal(principal: Principal): BudgetOwner {
  const existing = owners.get(principal)
  if (existing) return existing
  const actor = principal.caller ?? principal
  const owner = { group: groupOf(actor, principal), caller: callerName(actor) }
  owners.set(principal, owner)
  return owner
}

function groupOf(actor: Principal, { scope }: Principal): string {
  if (actor.kind === 'operator') return 'operators'
  return actor.kind === 'person' ? personGroup(scope) : backendGroup(scope)
}
