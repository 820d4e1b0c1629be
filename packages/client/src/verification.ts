/** The question and the answer of a verification (`POST /keys/verify`), and its error. */

export interface VerificationQuestion {
  readonly credential: string
  /** The scopes that the credential must hold. */
  readonly scopes?: readonly string[] | undefined
  /** The address of the client; without it, a key with `cidrs` is refused. */
  readonly address?: string | undefined
  /** The audience of an access token. */
  readonly resource?: string | undefined
  /** How many requests to count against the credential. Such answers are never cached. */
  readonly cost?: number | undefined
}

export interface ActiveCredential {
  readonly active: true
  readonly kind: 'key' | 'client' | 'person'
  readonly id: string
  readonly client_id: string | null
  readonly first_party: boolean
  readonly name: string | null
  readonly customer: string
  /** The customer's id in the application's own system. */
  readonly external_id: string | null
  readonly mode: 'live' | 'test'
  readonly scopes: readonly string[]
  readonly api_version: string | null
  readonly expires_at: string | null
  readonly limit: {
    readonly limit: number
    readonly remaining: number
    readonly reset_s: number
  } | null
}

export interface RefusedCredential {
  readonly active: false
  /** `unknown`, `expired`, `revoked`, `address`, `audience`, `scope`, `suspended`, `limited`. */
  readonly reason: string
  readonly missing_scopes?: readonly string[]
  /** For the application's own response. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

export type Verification = ActiveCredential | RefusedCredential

export type Verify = (question: VerificationQuestion) => Promise<Verification>

/** The service gave no verdict, and no answer in the cache is recent enough. */
export class VerifierUnavailable extends Error {
  constructor(cause: unknown) {
    super('The verification of credentials is unavailable.', { cause })
    this.name = 'VerifierUnavailable'
  }
}
