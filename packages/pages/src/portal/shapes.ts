/** The members of responses of `/portal/api` that the pages read. */
import type { PortalApplication, PortalHealth, PortalRequest } from './platform-types.ts'

export type UsedVersion = PortalHealth['versions'][number]

export type UpcomingChange = PortalHealth['changes'][number]

export type Endpoint = PortalHealth['webhooks'][number]

export type Health = PortalHealth

export interface Key {
  readonly id: string
  readonly name: string
  readonly hint: string
  readonly scopes: readonly string[]
  readonly expires_at: string | null
  readonly last_used_at: string | null
  /** The end of an older secret that is still valid. Lists have it. */
  readonly overlap_ends_at?: string | null
}

export type FailedRequest = PortalRequest

export type Application = PortalApplication

export interface Page<T> {
  readonly data: readonly T[]
  readonly has_more: boolean
  readonly next_cursor?: string | null
}
