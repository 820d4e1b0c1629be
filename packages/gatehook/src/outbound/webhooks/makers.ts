/**
 * Registrations follow the authority of their makers (§9.14). When a person is disabled, deleted or
 * loses `webhooks:write`, or an application is deleted or its consent revoked, their registrations
 * become inactive, as do those of a workload or an agent whose issuer, rule or identity has ended.
 * A maker's narrower scopes narrow its registrations. All of it happens in the transaction of the
 * change.
 */
import { type AuditContext, recordAudit } from '../../history/audit/store.ts'
import { webhookDisabled } from '../../history/events/engine-types.ts'
import type { EventAccess } from '../../history/events/event-access.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import type { Assertion, Principal, Scope } from '../../kernel/principal.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { saveTopics } from '../deliveries/outbox.ts'
import type { Registration } from '../deliveries/registration-store.ts'
import * as store from '../deliveries/registration-store.ts'
import { mayWrite } from './authority.ts'
import { eventsOf, scopesOf } from './registration.ts'

export const CREATOR_REMOVED = 'creator_removed'

/** Reads what makers may do now; undefined: the maker was disabled or deleted. */
export interface MakerRights {
  person(tx: Tx, subject: string): Promise<PersonRights | undefined>
  client(tx: Tx, clientId: string): Promise<ReadonlySet<string> | undefined>
  /** Reads the scopes of the rule of an issuer. */
  rule(tx: Tx, assertion: Assertion): Promise<ReadonlySet<string> | undefined>
}

interface PersonRights {
  readonly scopes: ReadonlySet<string>
  /** Hashes of how issuers name the person. */
  readonly identities: ReadonlySet<string>
}

interface MakerDeps extends AuditContext {
  readonly db: Database
  readonly record: RecordEvent
  readonly types: EventAccess
  readonly rights: MakerRights
  readonly wake: (webhookNos: readonly number[]) => void
}

export interface Makers {
  /** To be called when a person was changed, disabled or deleted. */
  personChanged(tx: Tx, scope: Scope, subject: string): Promise<void>
  /** To be called when a person revoked the consent to a client. Returns how many it disables. */
  consentEnded(tx: Tx, scope: Scope, subject: string, clientId: string): Promise<number>
  clientChanged(tx: Tx, scope: Scope, clientId: string): Promise<void>
  /** To be called when the rules of an issuer were changed, or it was deleted. */
  issuerChanged(tx: Tx, scope: Scope, issuer: string): Promise<void>
}

export function createMakers(deps: MakerDeps): Makers {
  const { types, rights } = deps
  const reviewRegistrations = async (
    tx: Tx,
    rows: readonly Registration[],
    kind: Principal['kind'],
    scopes: ReadonlySet<string> | undefined,
  ) => {
    for (const row of rows) {
      if (!scopes || !mayWrite(scopes)) await disable(deps, tx, row)
      else await narrowScopes(deps, tx, row, types.readScopesOf({ kind, scopes }))
    }
  }
  return {
    async personChanged(tx, scope, subject) {
      const rows = await store.lockRegistrationsOfPerson(tx, scope, subject)
      if (rows.length === 0) return
      const person = await rights.person(tx, subject)
      for (const row of rows) {
        const { identity } = assertionOf(row) ?? {}
        const isNamed = identity === undefined || person?.identities.has(identity)
        await reviewRegistrations(tx, [row], 'person', isNamed ? person?.scopes : undefined)
      }
    },
    async consentEnded(tx, scope, subject, clientId) {
      const ofPerson = await store.lockRegistrationsOfPerson(tx, scope, subject)
      const rows = ofPerson.filter(
        ({ client_id, disabled_reason }) =>
          client_id === clientId && disabled_reason !== CREATOR_REMOVED,
      )
      for (const row of rows) await disable(deps, tx, row)
      return rows.length
    },
    async clientChanged(tx, scope, clientId) {
      const rows = await store.lockRegistrationsOfClient(tx, scope, clientId)
      if (rows.length === 0) return
      const scopes = await rights.client(tx, clientId)
      const ofPersons = rows.filter(({ subject }) => subject !== null)
      const ofClient = rows.filter(({ subject }) => subject === null)
      await reviewRegistrations(tx, ofClient, 'client', scopes)
      await reviewRegistrations(tx, ofPersons, 'person', scopes)
    },
    async issuerChanged(tx, scope, issuer) {
      for (const row of await store.lockRegistrationsOfAssertions(tx, scope)) {
        const assertion = assertionOf(row)!
        if (assertion.issuer !== issuer) continue
        const kind = row.subject === null ? 'workload' : 'person'
        await reviewRegistrations(tx, [row], kind, await rights.rule(tx, assertion))
      }
    },
  }
}

const assertionOf = ({ assertion }: Registration): Assertion | undefined =>
  assertion === null ? undefined : JSON.parse(assertion)

/** Disables a registration. Its deliveries wait until a key of the customer becomes its maker. */
async function disable(deps: MakerDeps, tx: Tx, row: Registration): Promise<void> {
  const { clock, record, wake } = deps
  if (row.disabled_reason === CREATOR_REMOVED) return
  const disabled = { ...row, active: 0, disabled_reason: CREATOR_REMOVED }
  await store.updateRegistration(tx, disabled, clock.now())
  const { id, scope, subject, client_id } = row
  const detail = { reason: CREATOR_REMOVED, subject, client_id }
  const actor = { kind: 'system', id: 'webhooks' } as const
  await recordAudit(tx, { actor, action: 'webhook.disable', target: id, scope, detail }, deps)
  tx.afterCommit(() => wake([row.no]))
  if (row.active === 1) await record(tx, scope, webhookDisabled(row, CREATOR_REMOVED))
}

/** Removes scopes that the maker no longer holds; never adds one. */
async function narrowScopes(
  deps: MakerDeps,
  tx: Tx,
  row: Registration,
  allowed: ReadonlySet<string>,
): Promise<void> {
  const scopes = scopesOf(row)
  const remaining = scopes.filter((scope) => allowed.has(scope))
  if (remaining.length < scopes.length) await saveScopes(deps, tx, row, remaining)
}

async function saveScopes(
  { clock, wake }: MakerDeps,
  tx: Tx,
  row: Registration,
  scopes: readonly string[],
): Promise<void> {
  const changed = { ...row, scopes: JSON.stringify(scopes) }
  await store.updateRegistration(tx, changed, clock.now())
  await saveTopics(tx, { ...row, events: eventsOf(row) })
  tx.afterCommit(() => wake([row.no]))
}
