/**
 * Client ID metadata documents (§16.4): a `client_id` that is an https URL names the document that
 * describes the client. Pure; `client-documents.ts` fetches and caches them.
 *
 * @see draft-ietf-oauth-client-id-metadata-document
 */
import {
  type ClientMetadata,
  isObject,
  MetadataFault,
  readClientMetadata,
} from './client-metadata.ts'

export const MAX_ID_CHARACTERS = 2_000
export const MAX_DOCUMENT_BYTES = 10 * 1024

/** The hosts whose documents the server reads: none, all, or names and `*.` with a name. */
export type DocumentHosts = 'off' | 'any' | readonly string[]

/**
 * Returns the URL of a document: https with a path, without user, fragment and dot segments. Only
 * the normal spelling is an id, so that a host cannot be disguised.
 */
export function parseDocumentId(id: string): URL | undefined {
  if (id.length > MAX_ID_CHARACTERS || !id.startsWith('https://')) return undefined
  const url = URL.parse(id)
  if (url?.href !== id || url.pathname === '/' || id.includes('#')) return undefined
  // With a final dot a host would have a second name, which no block of the first one covers.
  if (url.hostname.endsWith('.')) return undefined
  return url.username === '' && url.password === '' ? url : undefined
}

/** Whether a text is the name of a host with a dot, or an address, without a port. */
export const isHost = (text: string): boolean =>
  /[.:]/.test(text) &&
  !text.endsWith('.') &&
  URL.parse(`https://${text}`)?.href === `https://${text}/` &&
  !hasPort(text)

const hasPort = (text: string): boolean => new URL(`https://${text}`).port !== ''

/** Whether the server reads the documents of a host. */
export function allowsHost(hosts: DocumentHosts, host: string): boolean {
  if (typeof hosts === 'string') return hosts === 'any'
  return hosts.some((name) =>
    name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name,
  )
}

/** A document has no secret, because everybody can read it. */
const METHODS = ['none', 'private_key_jwt'] as const
const SECRETS = ['client_secret', 'client_secret_expires_at'] as const

/** Reads a document. Throws `MetadataFault`, whose message is for the log. */
export function readClientDocument(id: string, document: unknown): ClientMetadata {
  if (!isObject(document)) throw new MetadataFault('the document is not an object')
  if (document.client_id !== id) throw new MetadataFault('client_id is not the URL of the document')
  const secret = SECRETS.find((member) => document[member] !== undefined)
  if (secret !== undefined) throw new MetadataFault(`the document has ${secret}`)
  const metadata = readClientMetadata(document, { methods: METHODS, isStrict: false })
  const { keys } = metadata
  if (keys && 'jwksUri' in keys && new URL(keys.jwksUri).host !== new URL(id).host) {
    throw new MetadataFault('jwks_uri has another host than the document')
  }
  return metadata
}
