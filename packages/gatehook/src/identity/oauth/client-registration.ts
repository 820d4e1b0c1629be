/**
 * `POST /oauth/register` (RFC 7591, §16.5): clients register themselves, with a key of a customer
 * or, where the operator allows it, without. Their metadata is a claim, as a document (§16.4).
 */

import { type AuditContext, actorOf, recordAudit } from '../../history/audit/store.ts'
import { addressBlock } from '../../kernel/address.ts'
import { parseApiKey } from '../../kernel/api-key-format.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Principal } from '../../kernel/principal.ts'
import { retryAfterS } from '../../kernel/time.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { bearerChallenge, parseAuthorization } from '../../protocol/http/authorization.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import type { Call, Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { hasCredential } from '../../protocol/http/own-page.ts'
import type { Limiter, RateLimit } from '../../protocol/quota/limiter.ts'
import type { Identify } from '../access/authenticate.ts'
import { resourceMetadataUrl } from '../access/protected-resources.ts'
import { holdsScope } from '../access/scopes.ts'
import { hashSecret } from '../access/secret-store.ts'
import {
  createSecret,
  MAX_CLIENTS_PER_CUSTOMER_AND_MODE,
  secrets,
} from './client-administration.ts'
import { MAX_DOCUMENT_BYTES } from './client-document.ts'
import {
  type ClientMetadata,
  isObject,
  MetadataFault,
  readClientMetadata,
} from './client-metadata.ts'
import * as store from './client-store.ts'
import { NO_STORE, OauthError, respondWithErrors } from './oauth-error.ts'
import { oauthOperations } from './operations.ts'
import { displayHost } from './redirect-uri.ts'

const REGISTER_SCOPE = 'clients:write'
/** The first is the default of RFC 7591 §2. */
const METHODS = ['client_secret_basic', 'client_secret_post', 'none', 'private_key_jwt'] as const
const MAX_OPEN_CLIENTS = 10_000
const PER_ADDRESS = { limit: 10, windowMs: 3_600_000 } as const
/** Addresses are cheap, and rows of the audit trail stay. */
const IN_ALL: RateLimit = {
  key: 'client registration in all',
  rate: { limit: 1000, windowMs: 3_600_000 },
}
const MAX_DETAIL_BYTES = 500
const PURGED_AT_ONCE = 100

export interface RegistrationDeps extends AuditContext {
  readonly db: Database
  readonly mode: 'off' | 'token' | 'open'
  readonly identify: Identify
  readonly limiter: Limiter
  readonly issuer: () => string
  /** The scopes of clients that describe themselves. */
  readonly scopes: readonly string[]
}

export const registrationRoute = (deps: RegistrationDeps): Route =>
  implement(oauthOperations.register, (call) =>
    respondWithErrors(async () => {
      if (deps.mode === 'off') throw new Failure('not_found')
      const owner = await authenticateRegistrar(deps, call)
      const metadata = readMetadata(call.body)
      // Malformed ones leave those of other addresses alone.
      if (!owner) await takeLimit(deps.limiter, IN_ALL)
      const response = await register(deps, call, owner, metadata)
      return respond(oauthOperations.register, response, { ...NO_STORE })
    }),
  )

/** Returns the key that registers a client; undefined without one, where that is allowed. */
async function authenticateRegistrar(
  { mode, identify, issuer, limiter }: RegistrationDeps,
  call: Call,
): Promise<Principal | undefined> {
  const { scheme, value } = parseAuthorization(call.headers.authorization ?? '')
  // RFC 7591 §3 sends the initial access token as Bearer; here it is a key.
  const isKey = scheme === 'bearer' && parseApiKey(value) !== undefined
  const keyCall: Call = isKey
    ? Object.create(call, { rawHeaders: { value: ['x-api-key', value] } })
    : call
  const principal = await identify(keyCall)
  if (principal) {
    call.identified = principal
    if (principal.kind === 'key' && holdsScope(principal, REGISTER_SCOPE)) return principal
    throw new OauthError('insufficient_scope', `The key lacks the scope ${REGISTER_SCOPE}.`)
  }
  if (call.query.has('access_token')) throw new Failure('token_in_url')
  const isInvalid = hasCredential(call)
  if (mode !== 'open' || isInvalid) {
    const metadata = resourceMetadataUrl(issuer(), '/oauth/register')
    const error = isInvalid ? 'invalid_token' : undefined
    const challenge = bearerChallenge({ error, scopes: [REGISTER_SCOPE], metadata })
    const headers = { 'www-authenticate': `${challenge}, ApiKey` }
    throw new OauthError('invalid_token', `Send a key with the scope ${REGISTER_SCOPE}.`, headers)
  }
  const key = `client registration ${addressBlock(call.address)}`
  await takeLimit(limiter, { key, rate: PER_ADDRESS })
  return undefined
}

async function takeLimit(limiter: Limiter, limit: RateLimit): Promise<void> {
  const { allowed, resetMs } = await limiter.take([limit])
  if (allowed) return
  throw new Failure('rate_limited', `At most ${limit.rate.limit} registrations an hour.`, {
    headers: { 'retry-after': String(retryAfterS(resetMs)) },
  })
}

async function register(
  deps: RegistrationDeps,
  call: Call,
  owner: Principal | undefined,
  metadata: ClientMetadata,
) {
  const { db, clock, random, scopes } = deps
  const { name, redirectUris, grantTypes, authenticationMethod, keys, idTokenAlgorithm } = metadata
  const isPublic = authenticationMethod === 'none'
  const now = clock.now()
  const id = createTimeOrderedId('client_', now, random)
  const secret = isPublic || keys ? undefined : createSecret(random)
  const row: store.ClientRow = {
    client_id: id,
    scope: owner?.scope ?? 0,
    customer: owner?.customer ?? null,
    mode: owner?.mode ?? null,
    name,
    redirect_uris: JSON.stringify(redirectUris),
    scopes: '[]',
    grant_types: JSON.stringify(grantTypes),
    ...store.authenticationColumns({ isPublic, keys }),
    first_party: 0,
    id_token_signed_response_alg: idTokenAlgorithm,
    source: 'registration',
    blocked: 0,
    used_at: null,
    created_at: now,
  }
  const write = writeFor(call, db)
  await write(async (tx) => {
    await makeSpace(tx, owner)
    await store.insertClient(tx, row)
    if (secret) await secrets.add(tx, { id, scope: row.scope }, hashSecret(secret), now)
    const detail = auditDetail(metadata)
    const maker = owner && { ...owner, id: owner.subject }
    const entry = { actor: actorOf(call, maker), action: 'client.register', target: id, detail }
    await recordAudit(tx, { ...entry, scope: owner?.scope }, deps)
  })
  return {
    client_id: id,
    client_id_issued_at: Math.floor(now / 1000),
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: grantTypes,
    response_types: ['code'],
    token_endpoint_auth_method: authenticationMethod,
    ...(keys && ('jwks' in keys ? { jwks: keys.jwks } : { jwks_uri: keys.jwksUri })),
    id_token_signed_response_alg: idTokenAlgorithm,
    scope: scopes.join(' '),
  }
}

/** Returns what the audit trail keeps of the claims: hosts as long as they have space. */
function auditDetail({ name, redirectUris, authenticationMethod }: ClientMetadata) {
  const hosts: string[] = []
  const detail = {
    name,
    public: authenticationMethod === 'none',
    redirect_uris: redirectUris.length,
    redirect_hosts: hosts,
  }
  for (const host of new Set(redirectUris.map(displayHost))) {
    hosts.push(host)
    if (Buffer.byteLength(JSON.stringify(detail)) > MAX_DETAIL_BYTES) hosts.pop()
  }
  return detail
}

function readMetadata(body: unknown) {
  try {
    if (!isObject(body)) throw new MetadataFault('the body is not an object')
    if (Buffer.byteLength(JSON.stringify(body)) > MAX_DOCUMENT_BYTES) {
      throw new MetadataFault(`the metadata has more than ${MAX_DOCUMENT_BYTES} bytes`)
    }
    return readClientMetadata(body, { methods: METHODS, isStrict: true })
  } catch (error) {
    if (!(error instanceof MetadataFault)) throw error
    throw new OauthError(error.code, error.message)
  }
}

/** Other registrations, or its first use, may take the oldest client in between. */
const EVICTIONS_MAX = 10

/** Evicts the oldest unused client where everyone may register one. Throws 409 `limit_reached`. */
export async function makeSpace(tx: Tx, owner: Principal | undefined): Promise<void> {
  if (owner) {
    if ((await store.countClients(tx, owner.scope)) < MAX_CLIENTS_PER_CUSTOMER_AND_MODE) return
  } else {
    if ((await store.countRegistered(tx)) < MAX_OPEN_CLIENTS) return
    for (let attempt = 0; attempt < EVICTIONS_MAX; attempt++) {
      const oldest = await store.findOldestUnused(tx)
      if (!oldest) break
      if (await store.deleteNeverUsed(tx, oldest.client_id)) return
    }
  }
  throw new Failure('limit_reached', 'No further client can be registered.')
}

/** Deletes clients without customer that were not used for 90 days. Returns their number. */
export async function purgeUnusedClients(db: Database, now: number): Promise<number> {
  const rows = await store.listUnused(db, now, PURGED_AT_ONCE)
  let purgedCount = 0
  for (const { client_id: id } of rows) {
    if (await db.write((tx) => store.deleteUnused(tx, id, now))) purgedCount++
  }
  return purgedCount
}
