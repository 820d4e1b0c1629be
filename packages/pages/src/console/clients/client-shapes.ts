/** The JSON of OAuth clients in `/admin`. */
import type { Client } from './client-types.ts'

/** A row of `GET /admin/clients`. */
export type ClientRow = Client

/** The response that contains the secret; a public client has none. */
export interface ClientWithSecret extends Client {
  readonly client_secret?: string
}

/** Returns the hosts of the redirect URIs; a URI without a host, its scheme. */
export function redirectHosts({ redirect_uris: uris }: ClientRow): string[] {
  const hosts = uris.map((uri) => {
    const { host, protocol } = new URL(uri)
    return host === '' ? protocol : host
  })
  return [...new Set(hosts)]
}
