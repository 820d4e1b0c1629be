/**
 * What each action of the audit trail takes from restored data (§18.5). Permissions are written as
 * the trail has them, without the rules for new requests; values that the trail lacks end.
 */
import type { App } from '../app.ts'
import { type AuditRow, REMOVED } from '../history/audit/chain.ts'
import { DEFAULT_CUSTOMER } from '../identity/access/administration.ts'
import { repeatKeyUpdate } from '../identity/access/key-update.ts'
import { repeatClientUpdate } from '../identity/oauth/client-administration.ts'
import { isHost, parseDocumentId } from '../identity/oauth/client-document.ts'
import { findClientScope } from '../identity/oauth/client-store.ts'
import { revokeConsent } from '../identity/oauth/consent-revocation.ts'
import { findConsentScope, listConsentOwners } from '../identity/oauth/consent-store.ts'
import { repeatOperatorPasskeyDeletion } from '../identity/people/operator-passkeys.ts'
import { findOperatorById } from '../identity/people/operator-store.ts'
import { setOperatorPassword } from '../identity/people/operators.ts'
import { repeatPasskeyDeletion } from '../identity/people/passkey-store.ts'
import type { Scope } from '../kernel/principal.ts'
import { systemRandom } from '../kernel/random.ts'
import { deleteGrant, replaceGrant } from '../outbound/emissions/grants.ts'
import { discardHeld } from '../outbound/emissions/store.ts'
import type { Api } from './api.ts'
import { cliActor } from './installation.ts'

export interface Installation {
  readonly api: Api
  readonly app: App
  readonly accessTokenTtlS: number
  /** The rules of an issuer that precede its creation or change in the trail. */
  readonly issuerRules: Map<string, object[]>
}

/** A row of the trail, without the details that the repetition of its action does not read. */
export interface Entry extends Partial<Pick<AuditRow, 'actor_kind' | 'actor_id' | 'scope'>> {
  /** Epoch milliseconds. */
  readonly at: number
  readonly target: string
  /** Whether the row lacks its details. */
  readonly isErased?: boolean
  /** Throws `ErasedDetail` if the row lacks them: the change is unknown. */
  // biome-ignore lint/suspicious/noExplicitAny: each action has details of its own
  readonly detail: any
}

/** Thrown if an action needs details that an erasure has removed from the trail (§18.11). */
export class ErasedDetail extends Error {
  override readonly name = 'ErasedDetail'

  constructor() {
    super('an erasure has removed its details')
  }
}

/** Reads a row of an export. */
export const entryOf = (row: AuditRow): Entry => {
  const { at, target, actor_kind, actor_id, scope, salt } = row
  // A row that lost an address alone has the other details.
  const isErased = salt === null && row.detail === REMOVED.detail
  return {
    ...{ at, target, actor_kind, actor_id, scope, isErased },
    get detail() {
      if (isErased) throw new ErasedDetail()
      return JSON.parse(row.detail)
    },
  }
}

export type Apply = (installation: Installation, entry: Entry) => Promise<unknown>

/** A password that fits no text: its owner must reset it. */
const newPassword = () => systemRandom().bytes(32).toString('base64url')

const send =
  (method: string, path: (target: string) => string, body?: () => object): Apply =>
  ({ api }, { target }) =>
    api.request(method, path(encodeURIComponent(target)), body?.())

const keyPath = (id: string) => `/admin/keys/${id}`
const clientPath = (id: string) => `/admin/clients/${id}`
const issuerPath = (id: string) => `/admin/issuers/${id}`
const customerPath = (id: string) => `/admin/customers/${id}`
const personPath = (id: string) => `/admin/users/${id}`
const operatorPath = (id: string) => `/admin/operators/${id}`

const revokeKey = send('DELETE', keyPath)
const deleteClient = send('DELETE', clientPath)
/** A client that a document describes cannot be deleted. */
const endClient: Apply = (installation, entry) => {
  const describesItself = parseDocumentId(entry.target) !== undefined || isHost(entry.target)
  const end = describesItself ? send('PATCH', clientPath, () => ({ blocked: true })) : deleteClient
  return end(installation, entry)
}
const deleteIssuer = send('DELETE', issuerPath)
/** Erased rules are those of a deleted customer, or are missing: the issuer permits less. */
const collectRules: Apply = async ({ issuerRules }, entry) => {
  const rules: object[] = entry.isErased ? [] : entry.detail.rules
  issuerRules.set(entry.target, [...(issuerRules.get(entry.target) ?? []), ...rules])
}
/** Rules and keys of the trail replace those of the restored data. */
const narrowIssuer: Apply = async ({ api, issuerRules }, { target, detail }) => {
  const collected = issuerRules.get(target) ?? []
  issuerRules.delete(target)
  const { owners, jwks, jwks_uri, reuse } = detail
  const rules = detail.rules === undefined ? undefined : collected
  await api.request('PATCH', issuerPath(target), { rules, owners, jwks, jwks_uri, reuse })
}
const suspendCustomer = (suspended: boolean) => send('PATCH', customerPath, () => ({ suspended }))
const disablePerson = send('PATCH', personPath, () => ({ disabled: true }))
const setRole: Apply = (installation, entry) => {
  const { role } = entry.detail
  return send('PATCH', operatorPath, () => ({ role }))(installation, entry)
}
const disableOperator = send('PATCH', operatorPath, () => ({ disabled: true }))
const resetPassword = send(
  'PUT',
  (id) => `${personPath(id)}/password`,
  () => ({ password: newPassword() }),
)
const endSession: Apply = ({ app }, { target }) =>
  app.db.write((tx) => app.tokens.revokeSession(tx, target))

/** The trail has no end of a token: no token lives longer than this. */
const revokeToken: Apply = ({ app, accessTokenTtlS }, { at, target: jti }) =>
  app.db.write((tx) =>
    app.tokens.revokeAccessToken(tx, { jti, exp: Math.ceil(at / 1000) + accessTokenTtlS }),
  )

const sendToWebhook =
  (method: string, body?: unknown): Apply =>
  async ({ api }, { target }) => {
    const { customer, mode } = await api.request('GET', `/admin/webhooks/${target}`)
    await api.request(method, `/admin/as/${customer}/${mode}/webhooks/${target}`, body)
  }

const disableWebhook = sendToWebhook('PATCH', { active: false })

const replaceSigningKeys: Apply = ({ app }) => app.tokens.replaceSigningKeys(cliActor())

/** By action of the audit trail. The others take nothing from a credential or a receiver. */
export const applications: Readonly<Record<string, Apply>> = {
  'key.revoke': revokeKey,
  // The restored data has the former secret only.
  'key.roll': revokeKey,
  'key.update': ({ app }, { target, detail }) =>
    repeatKeyUpdate(app.administration, target, detail, cliActor()),
  'client.delete': deleteClient,
  'client.rotate_secret': send(
    'POST',
    (id) => `${clientPath(id)}/rotate-secret`,
    () => ({
      overlap_seconds: 0,
    }),
  ),
  'client.update': ({ app }, { target, detail }) =>
    repeatClientUpdate(app.oauth.administration, target, detail, cliActor()),
  // The backup lacks the issuer, but its rules must not join those of a later change.
  'issuer.create': async ({ issuerRules }, { target }) => issuerRules.delete(target),
  'issuer.delete': deleteIssuer,
  'issuer.rules': collectRules,
  'issuer.update': narrowIssuer,
  'consent.revoke': ({ app }, entry) => {
    // A person revokes the own consents only (§4.5, §12.2).
    const isOwn = entry.actor_kind === 'person'
    return endConsent(app, entry.target, isOwn ? entry.actor_id! : entry.detail.subject)
  },
  'customer.delete': send('DELETE', customerPath),
  'customer.update': async (installation, entry) => {
    if (entry.target === DEFAULT_CUSTOMER) return // never suspended
    const { suspended } = entry.detail
    if (suspended !== undefined) await suspendCustomer(suspended)(installation, entry)
  },
  'operator.disable': disableOperator,
  'operator.enable': send('PATCH', operatorPath, () => ({ disabled: false })),
  'operator.role': async (installation, entry) => {
    // Its provider decides about the role, at the next sign-in: restored sessions have ended.
    const operator = await findOperatorById(installation.app.db, entry.target)
    if (!operator?.issuer) await setRole(installation, entry)
  },
  'operator.second_factor_reset': send('DELETE', (id) => `${operatorPath(id)}/second-factor`),
  'operator.password': ({ app }, { target }) => resetOperatorPassword(app, target),
  'person.update': ({ app }, { target, detail }) =>
    app.people.repeatUpdate(Number(target), detail, cliActor()),
  'person.password': resetPassword,
  'person.password_reset': resetPassword,
  'operator.passkey_delete': ({ app }, { target }) =>
    app.db.write((tx) => repeatOperatorPasskeyDeletion(tx, target)),
  'outbox.discard': ({ app }, { target }) => app.db.write((tx) => discardHeld(tx, target)),
  // An external id in the trail is no customer of the grant: the operator installs it again.
  'outbox.install': ({ app }, { target: role, detail: { customers, mode, types } }) =>
    app.db.write((tx) => replaceGrant(tx, { role, customers, mode, types })),
  'outbox.revoke': ({ app }, { target }) => app.db.write((tx) => deleteGrant(tx, target)),
  'passkey.delete': ({ app }, { target }) =>
    app.db.write((tx) => repeatPasskeyDeletion(tx, target)),
  'person.remove': disablePerson,
  'person.erase': send('DELETE', personPath),
  'session.end': endSession,
  'session.end_all': send('DELETE', (id) => `${personPath(id)}/sessions`),
  'token.reuse_detected': endSession,
  'code.reuse_detected': endSession,
  'token.revoke': revokeToken,
  'webhook.delete': sendToWebhook('DELETE'),
  'webhook.disable': disableWebhook,
  // The trail has the host of a new URL alone: no event goes to the former one.
  'webhook.update': async (installation, entry) => {
    const { host, active } = entry.detail
    if (host !== undefined || active === false) await disableWebhook(installation, entry)
  },
  'signing_key.rotate': replaceSigningKeys,
  'signing_key.replace': replaceSigningKeys,
}

interface Replacement {
  readonly apply: Apply
  /** The next task of an operator. */
  readonly advice: string
  readonly isReplaced?: (app: App, entry: Entry) => boolean
}

/**
 * Actions that replaced a factor by one that the trail lacks: the former one ends. They come after
 * all others, so that no later action of the trail revives it.
 */
export const replacements: Readonly<Record<string, Replacement>> = {
  'operator.second_factor_confirm': {
    apply: async (installation, entry) => {
      await applications['operator.second_factor_reset']!(installation, entry)
      await resetOperatorPassword(installation.app, entry.target)
    },
    advice: 'has another second factor since, and signs in by a link only: gatehook operators link',
  },
  'person.rename': {
    apply: disablePerson,
    advice: 'has another sign-in name since, and is disabled: set the name, then enable the person',
    isReplaced: ({ service: { resources } }, { detail: { fields } }) =>
      resources.some(({ signsIn }) => signsIn && fields.includes(signsIn.username)),
  },
}

/** Ends an object that an action cannot be applied to, by the first word of the action. */
export const endings: Readonly<Record<string, Apply>> = {
  key: revokeKey,
  client: endClient,
  consent: endConsentsAt,
  issuer: deleteIssuer,
  customer: suspendCustomer(true),
  operator: disableOperator,
  person: disablePerson,
  webhook: disableWebhook,
  outbox: applications['outbox.revoke']!,
}

async function endConsent(app: App, clientId: string, subject: string): Promise<void> {
  const { db, administration, tokens } = app
  const consented = { owner: Number(subject), clientId }
  const scope = (await findClientScope(db, clientId)) ?? (await findConsentScope(db, consented))
  if (scope === undefined) return
  const consent = { scope, subject, clientId }
  await revokeConsent({ ...administration, db, tokens }, consent, cliActor())
}

/** Ends the consents of all persons of a customer and mode to a client. */
async function endConsentsAt({ app }: Installation, { target, scope }: Entry): Promise<void> {
  const owners = scope == null ? [] : await listConsentOwners(app.db, scope as Scope, target)
  for (const owner of owners) await endConsent(app, target, String(owner))
}

async function resetOperatorPassword(app: App, id: string): Promise<void> {
  const operator = await findOperatorById(app.db, id)
  if (operator?.issuer !== null) return
  const password = { password: newPassword() }
  await setOperatorPassword(app.administration, app.hasher, operator.email, password, cliActor())
}
