/**
 * Administers trusted issuers (§16.8): creates, updates and deletes them. Each change is one
 * transaction with its audit entry.
 */
import { type AuditEntry, recordAudit } from '../../history/audit/store.ts'
import { Failure, type FieldError } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { CustomerPlace } from '../../platform/storage/customer-rows.ts'
import { ConstraintError, type Reader, type Tx } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import type { JsonOf, ValuesOf } from '../../protocol/fields/members.ts'
import type { AddedMembers } from '../../protocol/lists/definition.ts'
import { createAdminTable } from '../access/admin-table.ts'
import type { AdminCaller, Administration } from '../access/administration.ts'
import { customerIdOf } from '../access/customer-reader.ts'
import { findMisplacedScope, holdCustomerScope } from '../access/grant-validation.ts'
import type { Tokens } from '../tokens/api.ts'
import { type issuerCreation, type issuerPatch, trustedIssuer } from './issuer-members.ts'
import {
  findContinued,
  findMatchFault,
  findTypeFault,
  type IssuerRule,
  type Match,
  overlaps,
} from './issuer-rules.ts'
import * as store from './issuer-store.ts'

const MAX_ISSUERS = 1_000

type IssuerPatch = ValuesOf<ReturnType<typeof issuerPatch>>
type RuleInput = NonNullable<IssuerPatch['rules']>[number]
export type IssuerJson = JsonOf<typeof trustedIssuer>

export const issuerTable = createAdminTable({
  row: trustedIssuer,
  path: '/admin/issuers',
  name: 'issuers',
  table: 'gh_issuers',
  added: ['rules'],
  filter: ['id', 'issuer', 'created_at'],
  sort: ['id', 'created_at'],
  indexes: [['id'], ['created_at', 'id']],
})

const ruleJson = ({ id: _, scope: __, ...rule }: IssuerRule) => ({
  ...rule,
  typ: rule.typ ?? null,
  person: rule.person ?? null,
})

/** The rules of issuers, which are rows of their own. */
export const addedRules: AddedMembers = {
  names: ['rules'],
  async read(from, rows) {
    const ids = rows.map(({ id }) => String(id))
    const rules = await store.readRules(from, ids)
    return ids.map((id) => ({ rules: rules.get(id)!.map(ruleJson) }))
  },
}

/** Returns an issuer with its rules. Throws 404. */
export async function readIssuerJson(from: Reader, id: string): Promise<IssuerJson> {
  const issuer = await issuerTable.read(from, id)
  const rules = (await store.readRules(from, [id])).get(id)!
  return { ...issuer, rules: rules.map(ruleJson) }
}

export interface IssuerAdministration extends Administration {
  readonly tokens: Pick<Tokens, 'revokeClient' | 'publishClientChange'>
  /** Evicts an issuer from this node's cache; called after the commit of each change. */
  readonly evictIssuer: (issuer: string) => void
}

/** Adds an issuer. Throws 409 `conflict` if it exists, 422 `validation_failed`. */
export async function createIssuer(
  admin: IssuerAdministration,
  values: ValuesOf<ReturnType<typeof issuerCreation>>,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<IssuerJson> {
  const now = admin.clock.now()
  const id = createTimeOrderedId(store.ISSUER_PREFIX, now, admin.random)
  const { issuer, rules, ...settings } = values
  const empty = { id, issuer, jwks: null, jwks_uri: null, reuse: null, owners: '[]' }
  const row = mergeRow({ ...empty, created_at: now }, settings)
  return admin.write(async (tx) => {
    if ((await store.countIssuers(tx)) >= MAX_ISSUERS) {
      throw new Failure('limit_reached', `There are at most ${MAX_ISSUERS} issuers.`)
    }
    try {
      await store.insertIssuer(tx, row)
    } catch (error) {
      if (!(error instanceof ConstraintError && error.isOf(store.ISSUER_INDEX))) throw error
      throw new Failure('conflict', 'This issuer exists: change its rules instead.')
    }
    const stored = await storeRules(tx, admin, row, [], rules)
    const entry = { actor, action: 'issuer.create', target: id }
    await recordChange(tx, admin, { ...entry, detail: { issuer } }, stored)
    tx.afterCommit(() => admin.evictIssuer(issuer))
    return readIssuerJson(tx, id)
  })
}

/** Updates an issuer. Its rules narrow and end tokens issued before. Throws 404, 422. */
export const updateIssuer = (
  admin: IssuerAdministration,
  id: string,
  patch: IssuerPatch,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<IssuerJson> =>
  admin.write(async (tx) => {
    const before = await store.lockIssuer(tx, id)
    if (!before) throw new Failure('not_found')
    const row = mergeRow(before, patch)
    await store.updateIssuer(tx, row)
    const rules = (await store.readRules(tx, [id])).get(id)!
    const next = patch.rules && (await storeRules(tx, admin, row, rules, patch.rules))
    if (next) await publishChange(tx, admin, id, [...rules, ...next])
    else rejectFaults(rules.flatMap((rule, at) => matchErrors(rule.match, row, at)))
    const { rules: _, ...detail } = patch
    await recordChange(tx, admin, { actor, action: 'issuer.update', target: id, detail }, next)
    tx.afterCommit(() => admin.evictIssuer(row.issuer))
    return readIssuerJson(tx, id)
  })

/** Deletes an issuer; its tokens end on each node within 2 s. Throws 404. */
export const deleteIssuer = (
  admin: IssuerAdministration,
  id: string,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<void> =>
  admin.write(async (tx) => {
    const row = await store.lockIssuer(tx, id)
    if (!row) throw new Failure('not_found')
    const rules = (await store.readRules(tx, [id])).get(id)!
    await store.deleteIssuerRow(tx, id)
    await admin.tokens.revokeClient(tx, undefined, id)
    await publishChange(tx, admin, id, rules)
    const { issuer } = row
    await recordAudit(tx, { actor, action: 'issuer.delete', target: id, detail: { issuer } }, admin)
    tx.afterCommit(() => admin.evictIssuer(issuer))
  })

/**
 * Records a change of an issuer. Its rules have entries of their own before it, one for adjacent
 * rules of a customer and mode: a deletion of the customer clears them alone (§18.11).
 */
async function recordChange(
  tx: Tx,
  admin: IssuerAdministration,
  entry: Omit<AuditEntry, 'scope'>,
  rules: readonly IssuerRule[] | undefined,
): Promise<void> {
  const { actor, target } = entry
  const groups: IssuerRule[][] = []
  for (const rule of rules ?? []) {
    if (groups.at(-1)?.[0]?.scope === rule.scope) groups.at(-1)!.push(rule)
    else groups.push([rule])
  }
  for (const group of groups) {
    const detail = { rules: group.map(ruleJson) }
    const { scope } = group[0]!
    await recordAudit(tx, { actor, action: 'issuer.rules', target, scope, detail }, admin)
  }
  const detail = { ...entry.detail, ...(rules && { rules: rules.length }) }
  await recordAudit(tx, { ...entry, detail }, admin)
}

/**
 * Throws 409 `invalid_state` if the end of a customer's rules gave its callers to another customer:
 * the first rule that matches decides.
 */
export async function rejectInheritedRules(tx: Tx, customer: CustomerPlace): Promise<void> {
  for (const [id, rules] of await store.lockIssuersOf(tx, customer)) {
    const isInherited = rules.some(
      (rule, at) =>
        rule.customer === customer.id &&
        rules.slice(at).some((later) => later.customer !== customer.id && overlaps(rule, later)),
    )
    if (!isInherited) continue
    const message = `Later rules of ${id} would give callers of this customer to another one.`
    throw new Failure('invalid_state', `${message} Change the rules of the issuer first.`)
  }
}

/**
 * Applies changed rules to tokens, and to what their callers registered, in each scope: in the
 * order of the scopes, so that changes of two issuers do not wait for each other.
 */
async function publishChange(
  tx: Tx,
  { tokens }: IssuerAdministration,
  id: string,
  rules: readonly IssuerRule[],
): Promise<void> {
  const scopes = new Set(rules.map(({ scope }) => scope))
  for (const scope of [...scopes].sort((a, b) => a - b))
    await tokens.publishClientChange(tx, scope, id)
}

/** Merges settings into a row: one kind of keys replaces the other. Throws 422 for both. */
function mergeRow(
  row: store.IssuerRow,
  { jwks, jwks_uri: uri, reuse, owners }: Omit<IssuerPatch, 'rules'>,
): store.IssuerRow {
  if (jwks && uri) throw invalidMembers([invalid('/jwks_uri', 'is not beside jwks')])
  const jwksText = jwks ? JSON.stringify(jwks) : null
  return {
    ...row,
    jwks: jwks === undefined && !uri ? row.jwks : jwksText,
    jwks_uri: uri === undefined && !jwks ? row.jwks_uri : (uri ?? null),
    reuse: reuse === undefined ? row.reuse : reuse,
    owners: owners ? JSON.stringify(owners) : row.owners,
  }
}

const invalid = (pointer: string, message: string): FieldError => ({
  pointer,
  code: 'invalid_value',
  message,
})

function rejectFaults(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidMembers([...errors])
}

function matchErrors(match: object, { owners }: store.IssuerRow, at: number): FieldError[] {
  const fault = findMatchFault(match, JSON.parse(owners))
  return fault === undefined ? [] : [invalid(`/rules/${at}/match`, fault)]
}

/** Returns the errors of members of a rule that contradict each other. */
function ruleErrors(rule: RuleInput, customer: string, row: store.IssuerRow, at: number) {
  const { match, typ, person, domains = [], scopes, mode } = rule
  const errors = matchErrors(match, row, at)
  const add = (name: string, message: string) =>
    errors.push(invalid(`/rules/${at}/${name}`, message))
  const typeFault = typ ? findTypeFault(typ, Boolean(person)) : undefined
  if (typeFault !== undefined) add('typ', typeFault)
  if (domains.length > 0 && person !== 'email') add('domains', 'is for rules with person: email')
  const misplaced = findMisplacedScope('clients', scopes, customer, mode)
  if (misplaced && errors.length === 0) add('scopes', misplaced.message)
  return errors
}

/** Replaces the rules of an issuer; one that continues a former one has its id. Throws 422. */
async function storeRules(
  tx: Tx,
  { clock, random }: IssuerAdministration,
  row: store.IssuerRow,
  former: readonly IssuerRule[],
  inputs: readonly RuleInput[],
): Promise<IssuerRule[]> {
  const errors: FieldError[] = []
  const accepted: Omit<IssuerRule, 'id'>[] = []
  for (const [at, input] of inputs.entries()) {
    const customer = await customerIdOf(tx, input.customer)
    const ruleFaults = ruleErrors(input, customer, row, at)
    errors.push(...ruleFaults)
    if (ruleFaults.length > 0) continue
    const scope = await holdCustomerScope(tx, customer, input.mode).catch((error: unknown) => {
      if (!(error instanceof Failure) || !error.errors) throw error
      errors.push(invalid(`/rules/${at}/customer`, error.errors[0]!.message))
      return 0 as Scope
    })
    const { mode, scopes, domains = [] } = input
    const match = input.match as Match
    const [typ, person] = [input.typ ?? undefined, input.person ?? undefined]
    accepted.push({ match, typ, scope, customer, mode, scopes, person, domains })
  }
  rejectFaults(errors)
  const now = clock.now()
  const rules = findContinued(former, accepted).map((position, at) => ({
    id: former[position ?? -1]?.id ?? createTimeOrderedId('rul_', now, random),
    ...accepted[at]!,
  }))
  await store.storeRules(tx, row.id, rules)
  return rules
}
