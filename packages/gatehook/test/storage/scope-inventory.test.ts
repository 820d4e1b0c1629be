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
import { tableKinds } from '../../src/storage/table-kinds.ts'

/** By reason: files, or statements of a file by the declaration that contains them. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  'background work over all scopes': [
    'access/store.ts countKeys',
    'deliveries/clock-repair.ts',
    'deliveries/due-store.ts',
    'deliveries/engine-store.ts disableRegistration',
    'deliveries/engine-store.ts failingNos',
    'deliveries/retention.ts',
    'idempotency/store.ts purgeSecrets',
    'monitoring/installation-figures.ts',
    'monitoring/version-notices.ts',
    'oauth/authorization-codes.ts purgeCodes',
    'resources/row-repairs.ts',
    'resources/stale-rows.ts',
    'storage/delivery-queue.ts',
    'tokens/store.ts purgeSessions',
    'tokens/store.ts purgeSuccessors',
    'versions/store.ts listUnnotifiedCallers',
    'webhooks/registration-store.ts copyScopes',
    'webhooks/registration-store.ts replaceLostSecret',
    'webhooks/registration-store.ts withoutScopes',
    'webhooks/replay-store.ts allRunning',
    'webhooks/replay-store.ts incrementBeats',
    'webhooks/replay-store.ts selectIsRunning',
  ],
  'the position of the feed of all scopes': ['events/feed.ts positionOrder'],
  'a backup of SQLite, which is not distributed': ['storage/sqlite-backup.ts findNewestEvent'],
  'a registration by its number, which its delivery has': [
    'deliveries/engine-store.ts selectRegistration',
  ],
  'the log of a registration, which the request has found by its scope': [
    'deliveries/log-store.ts newestId',
    'deliveries/log-store.ts page',
    'deliveries/log-store.ts pendingEvents',
    'portal/health-store.ts',
  ],
  'a token or code names its session alone': [
    'oauth/authorization-codes.ts detachSession',
    'oauth/authorization-codes.ts findCode',
    'tokens/store.ts byId',
    'tokens/store.ts deleteSession',
    'tokens/store.ts rotate',
  ],
  'both modes of one customer': ['webhooks/registration-store.ts ofCustomer'],
  'operators read all customers': [
    'monitoring/attention-store.ts',
    'monitoring/key-usage.ts',
    'monitoring/request-reader.ts',
    'monitoring/version-callers.ts',
    'oauth/consent-store.ts deleteConsentsAtClient',
    'people/operator-creations.ts listCreations',
    'versions/store.ts listVersionCallers',
    'webhooks/all-deliveries.ts',
    'webhooks/endpoint-report.ts',
    'webhooks/one-delivery.ts',
  ],
}

const scoped = new Set(Object.keys(tableKinds).filter((name) => tableKinds[name] === 'scope'))
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
