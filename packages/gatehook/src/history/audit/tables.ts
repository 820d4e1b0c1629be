/** The audit trail: rows, and the chain of hashes that links them. */
import { bytes, int, serial, type Table, text } from '../../platform/storage/table.ts'

const auditTrail: Table = {
  name: 'gh_audit',
  row:
    'An operation. `tag` is the HMAC of the writer; `seq`, `hash` and `previous_hash` are null ' +
    'until the row joins the chain.',
  columns: {
    position: serial,
    id: text,
    at: int,
    actor_kind: text,
    actor_id: text,
    action: text,
    target: text,
    scope: int.orNull,
    detail: text.or('{}'),
    actor_name: text.orNull,
    address: text.orNull,
    request_id: text.orNull,
    tag: text.orNull,
    seq: int.orNull,
    hash: text.orNull,
    previous_hash: text.orNull,
    node: text.orNull,
  },
  key: ['position'],
  place: 'local',
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
}

const auditChain: Table = {
  name: 'gh_audit_chain',
  row: 'An end of the chain: its head, the last row, or its anchor, the last row that was purged.',
  columns: {
    name: text,
    seq: int,
    hash: text,
    untagged_through: int,
    mac: text,
  },
  key: ['name'],
  place: 'local',
  stays: 'for ever',
  ofNodes: true,
}

export const AUDIT_PURPOSE = 'audit'

const auditKeys: Table = {
  name: 'gh_audit_keys',
  row: 'The key of the chain.',
  columns: {
    id: text,
    encrypted: bytes,
  },
  key: ['id'],
  place: 'local',
  stays: 'for ever',
  encrypted: {
    encrypted: { purpose: AUDIT_PURPOSE, rowOf: ([id]) => String(id) },
  },
  ofNodes: true,
}

export const auditTables: readonly Table[] = [auditTrail, auditChain, auditKeys]
