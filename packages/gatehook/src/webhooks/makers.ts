/**
 * Registrations end with the authority of their makers (§9.14). A person that is disabled, deleted
 * or without `webhooks:write`, and an application that is deleted or whose consent is revoked,
 * leave registrations that are switched off; narrowed scopes narrow what a registration receives.
 * All of it happens in the transaction of the change.
 */
import { type AuditContext, recordAudit } from '../audit/store.ts'
import { saveTopics } from '../deliveries/outbox.ts'
import type { EventAccess } from '../events/event-access.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import type { Database, Tx } from '../storage/database.ts'
import { eventsOf, type Registration, scopesOf } from './registration.ts'
import * as store from './registration-store.ts'

export const CREATOR_REMOVED = 'creator_removed'

/** Scopes of a person or a client as stored; undefined: disabled or deleted. */
type StoredScopes = (tx: Tx, id: string) => Promise<ReadonlySet<string> | undefined>

export interface MakerDeps extends AuditContext {
  readonly db: Database
  readonly record: RecordEvent
  readonly types: EventAccess
  readonly personScopes: StoredScopes
  readonly clientScopes: StoredScopes
  readonly wake: (webhookNos: readonly number[]) => void
}

export interface Makers {
  /** The person changed, or is gone. */
  personChanged(tx: Tx, scope: Scope, subject: string): Promise<void>
  /** The person took back what the client was allowed. */
  consentEnded(tx: Tx, scope: Scope, subject: string, clientId: string): Promise<void>
  clientChanged(tx: Tx, clientId: string): Promise<void>
  /** Stores scopes of registrations that have none: an older program made them. */
  fillScopes(): Promise<number>
}

export function createMakers(deps: MakerDeps): Makers {
  const { db, types, personScopes, clientScopes } = deps
  const review = async (
    tx: Tx,
    rows: readonly Registration[],
    kind: Principal['kind'],
    scopes: ReadonlySet<string> | undefined,
  ) => {
    const acts = scopes && (scopes.has('webhooks:write') || scopes.has('admin'))
    for (const row of rows) {
      if (acts) await narrow(deps, tx, row, types.readScopesOf({ kind, scopes }))
      else await switchOff(deps, tx, row)
    }
  }
  return {
    async personChanged(tx, scope, subject) {
      const rows = await store.registrationsOfPerson(tx, scope, subject)
      if (rows.length > 0) await review(tx, rows, 'person', await personScopes(tx, subject))
    },
    async consentEnded(tx, scope, subject, clientId) {
      const rows = await store.registrationsOfPerson(tx, scope, subject)
      for (const row of rows) if (row.client_id === clientId) await switchOff(deps, tx, row)
    },
    async clientChanged(tx, clientId) {
      const rows = await store.registrationsOfClient(tx, clientId)
      if (rows.length === 0) return
      const scopes = await clientScopes(tx, clientId)
      await review(tx, rows.filter(byClient), 'client', scopes)
      await review(tx, rows.filter(byPerson), 'person', scopes)
    },
    async fillScopes() {
      let count = 0
      for (;;) {
        const filled = await db.write(async (tx) => {
          const rows = await store.registrationsWithoutScopes(tx)
          for (const row of rows) await fill(deps, tx, row)
          if (rows.length === 0) await store.fillTopicScopes(tx)
          return rows.length
        })
        if (filled === 0) return count
        count += filled
      }
    },
  }
}

const byPerson = ({ subject }: Registration) => subject !== null
const byClient = ({ subject }: Registration) => subject === null

/** It waits, with what it would have received, until a key of the customer takes it over. */
async function switchOff(deps: MakerDeps, tx: Tx, row: Registration): Promise<void> {
  const { clock, record, wake } = deps
  if (row.disabled_reason === CREATOR_REMOVED) return
  const disabled = { ...row, active: 0, disabled_reason: CREATOR_REMOVED }
  await store.updateRegistration(tx, disabled, clock.now())
  const { id, url, scope, subject, client_id } = row
  const detail = { reason: CREATOR_REMOVED, subject, client_id }
  const actor = { kind: 'system', id: 'webhooks' } as const
  await recordAudit(tx, { actor, action: 'webhook.disable', target: id, detail }, deps)
  tx.afterCommit(() => wake([row.no]))
  if (row.active === 0) return
  const object = { id, status: 'disabled', url, disabled_reason: CREATOR_REMOVED }
  await record(tx, scope, {
    type: 'webhook.disabled',
    collection: undefined,
    objectId: undefined,
    object: JSON.stringify(object),
  })
}

/** Scopes a maker no longer holds leave its registration; new ones never enter it. */
async function narrow(
  deps: MakerDeps,
  tx: Tx,
  row: Registration,
  allowed: ReadonlySet<string>,
): Promise<void> {
  const kept = scopesOf(row).filter((scope) => allowed.has(scope))
  if (kept.length < scopesOf(row).length) await saveScopes(deps, tx, row, kept)
}

/** An older program stored no scopes: a person's are what it holds now, others' are all. */
async function fill(deps: MakerDeps, tx: Tx, row: Registration): Promise<void> {
  const { types, personScopes } = deps
  if (row.subject === null) {
    const all = types.readScopesOf({ kind: 'key', scopes: new Set(['admin']) })
    return saveScopes(deps, tx, row, [...all])
  }
  const scopes = (await personScopes(tx, row.subject)) ?? new Set<string>()
  await saveScopes(deps, tx, row, [...types.readScopesOf({ kind: 'person', scopes })])
  const [filled] = (await store.registrationsOfPerson(tx, row.scope, row.subject)).filter(
    ({ no }) => no === row.no,
  )
  const acts = scopes.has('webhooks:write') || scopes.has('admin')
  if (filled && !acts) await switchOff(deps, tx, filled)
}

async function saveScopes(
  { clock, wake }: MakerDeps,
  tx: Tx,
  row: Registration,
  scopes: readonly string[],
): Promise<void> {
  const changed = { ...row, scopes: JSON.stringify(scopes) }
  const { scope, no, tag, api_version: version } = row
  await store.updateRegistration(tx, changed, clock.now())
  await saveTopics(tx, { scope, no, tag, version, events: eventsOf(row), scopes: changed.scopes })
  tx.afterCommit(() => wake([no]))
}
