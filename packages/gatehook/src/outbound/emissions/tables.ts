/** Events that transactions of the team emit by SQL (§17.2), until a node records them. */
import { byScope, int, serial, type Table, text } from '../../platform/storage/table.ts'

export const emissions: Table = {
  name: 'gh_emissions',
  row:
    'An event that a transaction emitted by SQL. A node moves it to the events; with a ' +
    '`key_hash` the row then stays without its object until `expires_at`, and with it the hash ' +
    'of the object. `txid` is the transaction, by which nodes find rows that commit late. An ' +
    'event that does not fit its declaration has `held_at`, the `problem`, and in `held_by` ' +
    'the declarations that it does not fit.',
  columns: {
    no: serial,
    id: text.plain,
    scope: int,
    type: text.plain,
    key_hash: text.secret.orNull,
    object: text.personal,
    object_hash: text.secret.orNull,
    created_at: int,
    txid: int,
    expires_at: int.orNull,
    held_at: int.orNull,
    held_by: text.plain.or(''),
    problem: text.plain.orNull,
  },
  key: ['no'],
  place: 'local',
  belongs: byScope,
  indexes: {
    waiting: {
      on: 'txid, no',
      where: 'expires_at IS NULL AND held_at IS NULL',
      serves: 'the events that no node has recorded',
    },
    scope: {
      on: 'scope, txid, no',
      where: 'expires_at IS NULL AND held_at IS NULL',
      serves: 'the turns of customers, while many wait',
    },
    held: { on: 'no', where: 'held_at IS NOT NULL', serves: 'the held events' },
    key: {
      on: 'scope, type, key_hash',
      unique: true,
      where: 'key_hash IS NOT NULL',
      serves: 'one event for a key',
    },
    expires: {
      on: 'expires_at, no',
      where: 'expires_at IS NOT NULL',
      serves: 'the purge',
    },
  },
  stays: 'until a node records the event; with a key for 24 hours',
  purgedBy: 'expires_at',
}

const emissionTypes: Table = {
  name: 'gh_emission_types',
  row: 'A type of event that a declaration lets SQL emit.',
  columns: { type: text.plain },
  key: ['type'],
  place: 'local',
  belongs: 'installation',
  stays: 'until a start declares it no longer',
  staysBehind: true,
}

const emissionGrants: Table = {
  name: 'gh_emission_grants',
  row:
    'A role of the database that may emit events. JSON: `customers` are the ids of customers, ' +
    '`types` those of events; NULL: all. A NULL `mode` is both. `had_usage` is 1 for a role that ' +
    'had the right USAGE of the schema before: it retains it.',
  columns: {
    role: text.plain,
    customers: text.plain.orNull,
    mode: text.plain.orNull,
    types: text.plain.orNull,
    had_usage: int.or(0),
  },
  key: ['role'],
  place: 'local',
  belongs: 'installation',
  stays: 'until it is revoked',
  staysBehind: true,
}

export const emissionsTables: readonly Table[] = [emissions, emissionTypes, emissionGrants]
