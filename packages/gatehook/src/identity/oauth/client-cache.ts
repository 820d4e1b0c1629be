/**
 * Finds clients: those of the table, cached for at most a second, and those that a document
 * describes (§16.4).
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { createLookupCache } from '../../kernel/lookup-cache.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import { type OauthClient, SIGN_IN_GRANTS } from './client.ts'
import { parseDocumentId } from './client-document.ts'
import type { ClientDocuments } from './client-documents.ts'
import type { ClientMetadata } from './client-metadata.ts'
import * as store from './client-store.ts'

/** The format of ids that this server creates; it looks up no other text. */
const ID = /^client_[0-9A-Za-z]{22}$/

/** Clients of a second. Each has up to 16 KiB, of strangers who register as well. */
const MAX_CACHED = 1_000

export interface ClientCache {
  /** Returns a client, synchronously if it is cached; undefined if it is unknown or blocked. */
  find(id: string): OauthClient | undefined | Promise<OauthClient | undefined>
  /** Returns the cached client, or reads it in a transaction. It caches no uncommitted row. */
  findIn(reader: Reader, id: string): OauthClient | undefined | Promise<OauthClient | undefined>
  /** Reads a client without the cache. Of one with a document, returns what its row says. */
  read(reader: Reader, id: string): Promise<OauthClient | undefined>
  /**
   * Returns the client that a document describes, as it is now; undefined if it cannot be read or
   * is blocked. While too many documents are fetched, a client that a person uses is the one of its
   * last valid document; of another one it throws 429 `rate_limited`.
   *
   * @param person identifies the person who signed in
   */
  findByDocument(id: string, person?: string): Promise<OauthClient | undefined>
  /** Whether an id is the URL of a document that the server may read. */
  acceptsDocument(id: string): boolean
  /** Returns a client of which the server knows the id alone. */
  unread(id: string, redirectUri: string): OauthClient
  /** Evicts a client that changed on this node. */
  evict(id: string): void
}

interface ClientCacheDeps {
  readonly db: Database
  readonly clock: Clock
  readonly documents: ClientDocuments
  /** The most scopes of clients that describe themselves. */
  readonly documentScopes: readonly string[]
  /** Whether clients get ID tokens (§16.10). */
  readonly hasOpenid: boolean
}

/** The algorithm of ID tokens of a client in whose grants a person takes part. */
const algorithmOf = (
  { hasOpenid }: Pick<ClientCacheDeps, 'hasOpenid'>,
  { grantTypes, idTokenAlgorithm }: Pick<ClientMetadata, 'grantTypes' | 'idTokenAlgorithm'>,
) => {
  const hasPersons = SIGN_IN_GRANTS.some((grant) => grantTypes.includes(grant))
  return hasOpenid && hasPersons ? idTokenAlgorithm : undefined
}

/** Returns the client that a document, or its row, describes. */
const ofDocument = (
  deps: Pick<ClientCacheDeps, 'hasOpenid' | 'documentScopes'>,
  id: string,
  metadata: Omit<ClientMetadata, 'authenticationMethod'>,
): OauthClient => ({
  id,
  source: 'document',
  scope: undefined,
  customer: undefined,
  mode: undefined,
  name: metadata.name,
  redirectUris: metadata.redirectUris,
  scopes: deps.documentScopes,
  grantTypes: metadata.grantTypes,
  isPublic: metadata.keys === undefined,
  keys: metadata.keys,
  requireAuthOnRefresh: metadata.keys !== undefined,
  idTokenAlgorithm: algorithmOf(deps, metadata),
  isFirstParty: false,
  secrets: [],
  suspended: false,
  describesItself: true,
  usedAt: null,
})

/** Returns the parts of a document that the row of its client has. */
const documentOf = ({ name, redirectUris, grantTypes, keys, idTokenAlgorithm }: OauthClient) =>
  JSON.stringify([name, redirectUris, grantTypes, keys, idTokenAlgorithm])

export function createClientCache(deps: ClientCacheDeps): ClientCache {
  const { db, clock, documents, documentScopes } = deps
  const read = async (from: Reader, id: string): Promise<OauthClient | undefined> => {
    const url = parseDocumentId(id)
    if (url && !documents.accepts(id)) return undefined
    const row = await store.findClientWithCustomer(from, id)
    if (!row || row.source === 'host' || row.blocked) return undefined
    if (url && (await store.isBlocked(from, [url.hostname]))) return undefined
    const redirectUris = JSON.parse(row.redirect_uris)
    const grantTypes = JSON.parse(row.grant_types)
    const keys = store.keysOf(row)
    const { name, id_token_signed_response_alg: idTokenAlgorithm } = row
    if (url) return ofDocument(deps, id, { name, redirectUris, grantTypes, keys, idTokenAlgorithm })
    const describesItself = row.source === 'registration'
    const secrets = row.public ? [] : await store.listClientSecrets(from, id)
    return {
      id,
      source: row.source,
      scope: row.scope === 0 ? undefined : (row.scope as Scope),
      customer: row.customer ?? undefined,
      mode: row.mode ?? undefined,
      name,
      redirectUris,
      scopes: describesItself ? documentScopes : JSON.parse(row.scopes),
      grantTypes,
      isPublic: row.public !== 0,
      keys,
      requireAuthOnRefresh: row.require_client_auth_on_refresh !== 0,
      idTokenAlgorithm: algorithmOf(deps, { grantTypes, idTokenAlgorithm }),
      isFirstParty: row.first_party !== 0,
      secrets: secrets.map(({ hash, expires_at }) => ({
        hash,
        expiresAt: expires_at ?? Number.POSITIVE_INFINITY,
      })),
      suspended: row.suspended === 1,
      describesItself,
      usedAt: row.used_at,
    }
  }
  const load = (id: string) => read(db, id)
  const cache = createLookupCache({ load, clock, maxEntries: MAX_CACHED })
  return {
    find: (id) => (ID.test(id) ? cache.get(id) : undefined),
    findIn: (reader, id) => cache.peek(id) ?? read(reader, id),
    read,
    acceptsDocument: documents.accepts,
    async findByDocument(id, person) {
      if (!documents.accepts(id)) return undefined
      if (await store.isBlocked(db, [id, new URL(id).hostname])) return undefined
      const stored = await read(db, id)
      try {
        const metadata = await documents.read(id, person, stored !== undefined)
        const client = metadata && ofDocument(deps, id, metadata)
        if (client && stored && documentOf(client) !== documentOf(stored)) {
          await db.write((tx) => store.storeDocumentClient(tx, client, clock.now()))
        }
        return client
      } catch (error) {
        const isBusy = error instanceof Failure && error.code === 'rate_limited'
        if (isBusy && stored && !documents.hasFailed(id)) return stored
        throw error
      }
    },
    unread: (id, redirectUri) =>
      ofDocument(deps, id, {
        name: new URL(id).host,
        redirectUris: [redirectUri],
        grantTypes: ['authorization_code'],
        keys: undefined,
        idTokenAlgorithm: 'RS256',
      }),
    evict: cache.evict,
  }
}
