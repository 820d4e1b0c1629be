/** The audit trail: rows, and the chain of hashes that links them. */
import type { Value } from '../../platform/storage/database.ts'
import {
  byScope,
  bytes,
  int,
  type PersonTrace,
  serial,
  type Table,
  text,
} from '../../platform/storage/table.ts'
import { OF_OTHERS } from './chain.ts'

/** They contain no name, and a restore reads them. */
const OF_ERASURE = /^person\.(erased?|export)$/
/** Actions whose target can be a person. */
const ON_PERSON = /^(person\.|login\.|session\.end_all$|portal\.)/

/** Whether the person did an operation, or it was done on the person. */
const concerns = (row: Readonly<Record<string, Value>>, person: PersonTrace): boolean =>
  !OF_ERASURE.test(String(row.action)) &&
  ((row.actor_kind === 'person' && row.actor_id === person.id) ||
    (ON_PERSON.test(String(row.action)) && row.target === person.id))

/**
 * Whether a row of an operator, key or client has an address of a person in its details alone. The
 * person's customer chooses its addresses: such a row loses the address, and no other value.
 */
export const mentionsInDetail = (
  row: Readonly<Record<string, Value>>,
  person: PersonTrace,
): boolean =>
  OF_OTHERS.test(String(row.actor_kind)) && !concerns(row, person) && person.isAddressIn(row.detail)

export const auditTrail: Table = {
  name: 'gh_audit',
  row:
    'An operation. `tag` is the HMAC of the writer; `seq`, `hash` and `previous_hash` are null ' +
    'until the row joins the chain. They cover `digest`, the salted hash of name, address and ' +
    'detail: a deletion of the person or customer removes those and the salt (§18.11), and ' +
    'stores the id of its row, and an HMAC that it did, in `cleared`. `scope`: the customer and ' +
    'mode that the row concerns.',
  columns: {
    position: serial,
    id: text.plain,
    at: int,
    actor_kind: text.plain,
    actor_id: text.plain,
    action: text.plain,
    target: text.plain,
    scope: int.orNull,
    detail: text.personal.or('{}'),
    actor_name: text.personal.orNull,
    address: text.personal.orNull,
    request_id: text.plain.orNull,
    tag: text.secret.orNull,
    cleared: text.secret.orNull,
    seq: int.orNull,
    hash: text.plain.orNull,
    previous_hash: text.plain.orNull,
    node: text.plain.orNull,
    salt: text.personal.orNull,
    digest: text.plain.or(''),
  },
  key: ['position'],
  place: 'local',
  belongs: { ...byScope, outlives: true },
  ofPerson: {
    columns: ['actor_kind', 'actor_id', 'action', 'target', 'actor_name', 'detail'],
    isOf: (row, person) =>
      concerns(row, person) ||
      (!OF_ERASURE.test(String(row.action)) &&
        !OF_OTHERS.test(String(row.actor_kind)) &&
        (person.isName(row.actor_name) || person.isAddressIn(row.detail))),
    effect: 'clear',
    inRowsOfOthers: { columns: ['actor_kind', 'actor_id', 'action', 'target'], isOf: concerns },
  },
  indexes: {
    id: { on: 'id', unique: true, serves: 'a row by its id' },
    at: { on: 'at, id', serves: 'lists by time' },
    unchained: { on: 'position', where: 'seq IS NULL', serves: 'rows that join the chain' },
    actor: { on: 'actor_id, id', serves: 'lists of an actor' },
    action: { on: 'action, id', serves: 'lists of an action' },
    target: { on: 'target, id', serves: 'lists of an object' },
    order: { on: 'seq, id', serves: 'lists in the order of the chain' },
  },
  stays: 'as long as `GATEHOOK_AUDIT_RETENTION_DAYS`',
  recordsMove: 'action',
}

const auditChain: Table = {
  name: 'gh_audit_chain',
  row: 'An end of the chain: its head, the last row, or its anchor, the last row that was purged.',
  columns: {
    name: text.plain,
    seq: int,
    hash: text.plain,
    untagged_through: int,
    mac: text.secret,
  },
  key: ['name'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
  ofNodes: true,
}

export const AUDIT_PURPOSE = 'audit'

export const auditKeys: Table = {
  name: 'gh_audit_keys',
  row: 'The key of the chain.',
  columns: {
    id: text.plain,
    encrypted: bytes.secret,
  },
  key: ['id'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
  encrypted: {
    encrypted: { purpose: AUDIT_PURPOSE, rowOf: ([id]) => String(id) },
  },
  ofNodes: true,
}

export const auditTables: readonly Table[] = [auditTrail, auditChain, auditKeys]
