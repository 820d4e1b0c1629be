/**
 * What a client says about itself (RFC 7591 §2), in a document or a registration. All of it is a
 * claim; the consent page says so. Pure.
 */
import { ID_TOKEN_ALGORITHMS, type IdTokenAlgorithm } from '../tokens/id-token.ts'
import type { GrantType } from './client.ts'
import { PUBLIC_GRANT_TYPES } from './client.ts'
import { type ClientKeys, findKeySetFault, findKeySetUrlFault, usableKeys } from './key-set.ts'
import { findRegistrationFault } from './redirect-uri.ts'

const MAX_NAME_CHARACTERS = 60
export const MAX_REDIRECT_URIS = 50

/** One line without control and format characters, which could imitate the text of the page. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]+$/u

/** A client that no operator registered, as it describes itself. */
export interface ClientMetadata {
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly grantTypes: readonly GrantType[]
  readonly authenticationMethod: string
  /** Undefined unless the method is `private_key_jwt` (§16.7). */
  readonly keys: ClientKeys | undefined
  readonly idTokenAlgorithm: IdTokenAlgorithm
}

/** A mistake in metadata; `code` is that of a registration (RFC 7591 §3.2.2). */
export class MetadataFault extends Error {
  readonly code: 'invalid_client_metadata' | 'invalid_redirect_uri'

  constructor(message: string, code: MetadataFault['code'] = 'invalid_client_metadata') {
    super(message)
    this.code = code
  }
}

interface MetadataRules {
  /** The methods of authentication that the client may use; the first is the default. */
  readonly methods: readonly string[]
  /** Whether a redirect URI that cannot be registered is a mistake; else the others count. */
  readonly isStrict: boolean
}

type Metadata = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Metadata =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readTexts = (metadata: Metadata, member: string): readonly string[] | undefined => {
  const value = metadata[member]
  if (value === undefined) return undefined
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string')
  if (!isList) throw new MetadataFault(`${member} is not a list of texts`)
  return value
}

/** Reads the metadata of a client; unknown members and values of lists are ignored. */
export function readClientMetadata(
  metadata: Metadata,
  { methods, isStrict }: MetadataRules,
): ClientMetadata {
  const { client_name: name, token_endpoint_auth_method: method = methods[0] } = metadata
  if (typeof name !== 'string' || name.trim() === '' || !NAME.test(name)) {
    throw new MetadataFault('client_name is not one line of visible characters')
  }
  if ([...name].length > MAX_NAME_CHARACTERS) {
    throw new MetadataFault(`client_name has more than ${MAX_NAME_CHARACTERS} characters`)
  }
  if (typeof method !== 'string' || !methods.includes(method)) {
    throw new MetadataFault(`token_endpoint_auth_method must be one of ${methods.join(', ')}`)
  }
  const responses = readTexts(metadata, 'response_types') ?? ['code']
  if (!responses.includes('code')) throw new MetadataFault('response_types lacks code')
  const grants = readTexts(metadata, 'grant_types') ?? PUBLIC_GRANT_TYPES
  const grantTypes = PUBLIC_GRANT_TYPES.filter((type) => grants.includes(type))
  if (!grantTypes.includes('authorization_code')) {
    throw new MetadataFault('grant_types lacks authorization_code')
  }
  const redirectUris = readRedirectUris(metadata, isStrict)
  return {
    name,
    redirectUris,
    grantTypes,
    authenticationMethod: method,
    idTokenAlgorithm: readAlgorithm(metadata),
    keys: readKeys(metadata, method),
  }
}

function readAlgorithm({ id_token_signed_response_alg: sent }: Metadata): IdTokenAlgorithm {
  const algorithm = ID_TOKEN_ALGORITHMS.find((name) => name === (sent ?? ID_TOKEN_ALGORITHMS[0]))
  if (algorithm) return algorithm
  const names = ID_TOKEN_ALGORITHMS.join(', ')
  throw new MetadataFault(`id_token_signed_response_alg must be one of ${names}`)
}

function readKeys(metadata: Metadata, method: string): ClientKeys | undefined {
  if (method !== 'private_key_jwt') return undefined
  const { jwks, jwks_uri: jwksUri } = metadata
  if ((jwks === undefined) === (jwksUri === undefined)) {
    throw new MetadataFault('private_key_jwt needs either jwks or jwks_uri')
  }
  if (jwks !== undefined) {
    const fault = findKeySetFault(jwks)
    if (fault !== undefined) throw new MetadataFault(`jwks ${fault}`)
    return { jwks: usableKeys(jwks) }
  }
  const fault = typeof jwksUri === 'string' ? findKeySetUrlFault(jwksUri) : 'is not a text'
  if (fault !== undefined) throw new MetadataFault(`jwks_uri ${fault}`)
  return { jwksUri: String(jwksUri) }
}

function readRedirectUris(metadata: Metadata, isStrict: boolean): readonly string[] {
  const uris = readTexts(metadata, 'redirect_uris') ?? []
  const faults = uris.map(findRegistrationFault)
  const validUris = [...new Set(uris.filter((_, n) => faults[n] === undefined))]
  const fault = isStrict ? faults.find((text) => text !== undefined) : undefined
  const hasTooMany = validUris.length > MAX_REDIRECT_URIS
  if (fault === undefined && validUris.length > 0 && !hasTooMany) return validUris
  const most = `are more than ${MAX_REDIRECT_URIS}`
  const reason = hasTooMany ? most : (fault ?? 'has no URI that can be registered')
  throw new MetadataFault(`redirect_uris ${reason}`, 'invalid_redirect_uri')
}
