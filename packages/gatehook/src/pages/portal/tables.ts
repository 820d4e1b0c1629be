/** One-time links to the portal, and its sessions (§12.2). */
import { byScope, bytes, int, type Table, text } from '../../platform/storage/table.ts'

/** The administrator who created a link. */
const MAKER = { columns: ['maker_id', 'maker_client', 'maker_session'], isIn: () => true }
const LINK_MAKER = { columns: ['maker', ...MAKER.columns], isIn: () => true }

export const portalLinks: Table = {
  name: 'gh_portal_links',
  row:
    'A link that opens the portal once. `maker`: the administrator who created it, as JSON. ' +
    '`maker_id`, `maker_client`, `maker_session`: with whose access it ends.',
  columns: {
    hash: bytes.secret,
    id: text.plain,
    scope: int,
    customer: text.plain,
    mode: text.plain,
    can: text.plain,
    email: text.personal.orNull,
    return_url: text.personal.orNull,
    maker: text.plain.orNull,
    maker_id: text.plain.orNull,
    maker_client: text.plain.orNull,
    maker_session: text.plain.orNull,
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
  hiddenInExports: [LINK_MAKER],
  indexes: {
    id: { on: 'id', unique: true, serves: 'a link by its id' },
    scope: { on: 'scope, expires_at', serves: 'the links of a customer' },
    maker: { on: 'maker_id', serves: 'the links of a maker' },
    client: {
      on: 'maker_client',
      where: 'maker_client IS NOT NULL',
      serves: 'the links of a client',
    },
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

export const portalSessions: Table = {
  name: 'gh_portal_sessions',
  row:
    'A session of the portal. `maker_id`, `maker_client`, `maker_session`: with whose access it ' +
    'ends.',
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
    maker_id: text.plain.orNull,
    maker_client: text.plain.orNull,
    maker_session: text.plain.orNull,
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
  hiddenInExports: [MAKER],
  indexes: {
    id: { on: 'id', unique: true, serves: 'a session by its id' },
    subject: { on: 'kind, subject, scope, created_at', serves: 'the newest sessions of a subject' },
    maker: { on: 'maker_id', serves: 'the sessions of the links of a maker' },
    client: {
      on: 'maker_client',
      where: 'maker_client IS NOT NULL',
      serves: 'the sessions of the links of a client',
    },
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

export const portalTables: readonly Table[] = [portalLinks, portalSessions]
