/**
 * Every statement in the source that uses a table distributed by scope is bound to one scope, as
 * PostgreSQL's parser reads it, or is listed below with its reason. Statements whose table is a
 * parameter, those of resources, are read as the driver sends them (`scope-bound.test.ts`).
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadModule } from 'libpg-query'
import { readScopeBinding } from '../../../../test/rig/scope-binding.ts'
import { readSqlTexts, type SqlText } from '../../../../test/rig/sql-texts.ts'
import { engineTables } from '../../src/engine-tables.ts'

/** By reason: files, or statements of a file by the declaration that contains them. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  'background work over all scopes': [
    'identity/access/store.ts countKeys',
    'history/events/waiting.ts countAll',
    'history/events/waiting.ts forNos',
    'outbound/deliveries/backlog-store.ts pendingAfter',
    'outbound/deliveries/clock-repair.ts',
    'outbound/deliveries/due-store.ts',
    'outbound/deliveries/engine-store.ts disableRegistration',
    'outbound/deliveries/engine-store.ts failingNos',
    'outbound/deliveries/reference-check.ts',
    'outbound/deliveries/retention.ts',
    'protocol/idempotency/store.ts purgeSecrets',
    'protocol/lists/counter-check.ts',
    'outbound/deliveries/summary-store.ts queued',
    'declare/versions/usage-reader.ts selectCustomersCalling',
    'outbound/deliveries/endpoint-reader.ts selectScopesPinnedTo',
    'identity/tokens/store.ts purgeSuccessors',
    'declare/versions/store.ts listUnnotifiedCallers',
    'outbound/deliveries/registration-store.ts replaceLostSecret',
    'outbound/webhooks/replay-store.ts nextOfCustomer',
  ],
  'SQLite, which is not distributed': ['history/events/store.ts findNewestEvent'],
  'a registration by its number, which its delivery has': [
    'outbound/deliveries/backlog-store.ts readSending',
    'outbound/deliveries/engine-store.ts selectRegistration',
  ],
  'the log of a registration, which the request has found by its scope': [
    'history/events/waiting.ts anyFor',
    'outbound/deliveries/log-store.ts newestId',
    'outbound/deliveries/log-store.ts page',
  ],
  'a fragment that names the scope of a row, an argument': [
    'history/events/by-id.ts isEventStored',
    'history/events/waiting.ts SELECT_WAITING',
    'outbound/deliveries/backlog-store.ts ROWS_AND_WAITING',
    'history/events/waiting.ts WAITING_EVENTS',
    'outbound/deliveries/event-log-store.ts hasDeliveryIn',
    'outbound/deliveries/result-store.ts updateFrom',
  ],
  'a token or code names its session alone': [
    'identity/oauth/authorization-codes.ts detachSession',
    'identity/oauth/authorization-codes.ts findCode',
    'identity/oauth/authorization-codes.ts redeem',
    'identity/tokens/store.ts byId',
    'identity/tokens/store.ts deleteSession',
    'identity/tokens/store.ts rotate',
  ],
  'a client of no customer has persons of all customers': [
    'identity/oauth/consent-store.ts findConsentScope',
    'identity/tokens/store.ts deleteSessionsOfClient',
  ],
  'both modes of one customer': ['outbound/deliveries/registration-store.ts ofCustomer'],
  'operators read all customers': [
    'declare/versions/usage-reader.ts countVersionCallers',
    'declare/versions/usage-reader.ts listUsage',
    'identity/access/key-reader.ts',
    'outbound/deliveries/endpoint-reader.ts listDisabledEndpoints',
    'outbound/deliveries/endpoint-reader.ts listEndpointsCreatedBy',
    'outbound/deliveries/endpoint-reader.ts listFailingEndpoints',
    'outbound/deliveries/endpoint-reader.ts REPORTED',
    'outbound/deliveries/endpoint-reader.ts listPinnedEndpoints',
    'outbound/deliveries/endpoint-reader.ts listSlowEndpoints',
    'identity/oauth/consent-store.ts deleteConsentsAtClient',
    'declare/versions/store.ts listVersionCallers',
    'outbound/deliveries/event-log-store.ts IN_STATE',
    'history/events/waiting.ts any',
    'outbound/deliveries/event-log-store.ts anyOfEvent',
    'outbound/deliveries/registration-store.ts noById',
    'outbound/deliveries/registration-store.ts readRegistrationStatuses',
    'outbound/deliveries/summary-store.ts byId',
  ],
}

const scoped = new Set(
  engineTables.filter(({ place }) => place === 'scope').map(({ name }) => name),
)
const usesScoped = new RegExp(`\\b(FROM|JOIN|INTO|UPDATE)\\s+(${[...scoped].join('|')})\\b`)

/** A part of a statement, or one of SQLite alone, has to name the scope in the same text. */
const NAMES_SCOPE = /\bscope = |INTO \w+\s*\([^)]*\bscope\b/

before(() => loadModule())

function isBound({ text }: SqlText): boolean {
  for (const form of [text, `SELECT 1 WHERE ${text}`, `SELECT 1 FROM gh_migrations ${text}`]) {
    try {
      return readScopeBinding(form, scoped).unbound.length === 0
    } catch (error) {
      // The text is not of this form.
      if (!String(error).includes('syntax error')) throw error
    }
  }
  return NAMES_SCOPE.test(text)
}

test('each statement of the source that uses a distributed table is bound to a scope', () => {
  const texts = readSqlTexts().filter(({ text }) => usesScoped.test(text))
  assert.ok(texts.length > 150, `${texts.length} texts`)
  const unbound = texts.filter((text) => !isBound(text)).map(({ place }) => place)
  const listed = Object.values(EXCEPTIONS).flat()
  const isListed = (place: string, entry: string) =>
    place === entry || place.startsWith(`${entry} `)
  assert.deepEqual(
    [...new Set(unbound)].filter((place) => !listed.some((entry) => isListed(place, entry))),
    [],
    'statements without a scope',
  )
  assert.deepEqual(
    listed.filter((entry) => !unbound.some((place) => isListed(place, entry))),
    [],
    'exceptions that match no statement',
  )
})
