/** The JSON of OAuth clients in `/admin`. */
import type { Client } from './client-types.ts'

/** A row of `GET /admin/clients`. */
export type ClientRow = Client

/** The response that contains the secret; a public client has none. */
export interface ClientWithSecret extends Client {
  readonly client_secret?: string
}
