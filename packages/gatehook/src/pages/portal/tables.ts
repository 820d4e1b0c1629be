/** One-time links to the portal, and its sessions (§12.2). */
import { byScope, bytes, int, type Table, text } from '../../platform/storage/table.ts'

/** The operator that created a link. */
const OPERATOR = { columns: ['operator'], isIn: () => true }
const MAKER = { columns: ['maker'], isIn: () => true }

export const portalLinks: Table = {
  name: 'gh_portal_links',
  row: 'A link that opens the portal once. `maker`: the administrator who created it, as JSON.',
  columns: {
    hash: bytes.secret,
    id: text.plain,
    scope: int,
    customer: text.plain,
    mode: text.plain,
    can: text.plain,
    email: text.personal.orNull,
    return_url: text.personal.orNull,
    operator: text.plain.orNull,
    maker: text.plain.orNull,
    created_at: int,
    expires_at: int,
  },
  key: ['hash'],
  place: 'local',
  belongs: byScope,
  ofPerson: {
    columns: ['email'],
    isOf: ({ email }, person) => person.names(email),
    effect: 'delete',
  },
  hiddenInExports: [OPERATOR, MAKER],
  indexes: {
    id: { on: 'id', unique: true, serves: 'a link by its id' },
    scope: { on: 'scope, expires_at', serves: 'the links of a customer' },
    operator: { on: 'operator', serves: 'the links of an operator' },
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

export const portalSessions: Table = {
  name: 'gh_portal_sessions',
  row: 'A session of the portal.',
  columns: {
    hash: bytes.secret,
    id: text.plain,
    scope: int,
    customer: text.plain,
    mode: text.plain,
    kind: text.plain,
    subject: text.plain,
    revision: int.orNull,
    can: text.plain,
    email: text.personal.orNull,
    return_url: text.personal.orNull,
    operator: text.plain.orNull,
    address: text.personal,
    created_at: int,
    expires_at: int,
  },
  key: ['hash'],
  place: 'local',
  belongs: byScope,
  ofPerson: {
    columns: ['kind', 'subject', 'email'],
    isOf: ({ kind, subject, email }, person) =>
      (kind === 'person' && subject === person.id) || person.names(email),
    effect: 'delete',
  },
  hiddenInExports: [OPERATOR],
  indexes: {
    id: { on: 'id', unique: true, serves: 'a session by its id' },
    subject: { on: 'kind, subject, scope, created_at', serves: 'the newest sessions of a subject' },
    operator: { on: 'operator', serves: 'the sessions of the links of an operator' },
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

export const portalTables: readonly Table[] = [portalLinks, portalSessions]
