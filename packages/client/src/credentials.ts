/**
 * The credential of a client, and the refresh of its tokens. Tokens are in memory only; `onTokens`
 * passes each new pair to the application.
 */
import { GatehookError } from './error.ts'

export interface Tokens {
  readonly accessToken: string
  /** Replaces the previous one, which is revoked (§4.2): store it. */
  readonly refreshToken: string | undefined
  /** Lifetime of the access token, in seconds. */
  readonly expiresIn: number | undefined
}

/** An API key, tokens of a login or an OAuth grant, or none for public paths. */
export type Credential =
  | { readonly apiKey: string; readonly token?: undefined; readonly refreshToken?: undefined }
  | {
      readonly apiKey?: undefined
      /** Access token; optional beside a refresh token. */
      readonly token?: string | undefined
      readonly refreshToken?: string | undefined
    }

export interface Credentials {
  /** Returns the headers of a request. Refreshes first if there is only a refresh token. */
  headers(): Promise<Record<string, string>>
  /**
   * Refreshes the tokens after the API rejected these headers; false without a refresh token. At
   * most one refresh runs at a time: a reused refresh token revokes the whole token family.
   */
  refresh(rejected: Record<string, string>): Promise<boolean>
}

const NAMES = ['apiKey', 'token', 'refreshToken'] as const

/**
 * A variable that is not set is a mistake here, instead of a 401 later.
 *
 * @throws {TypeError} Credentials are named, and each is missing; or one is no text.
 */
function requireNamed(credential: Credential): void {
  const named = NAMES.filter((name) => Object.hasOwn(credential, name))
  const given = named.filter((name) => credential[name] !== undefined)
  const faulty = given.find((name) => typeof credential[name] !== 'string' || !credential[name])
  const missing = faulty ?? (given.length === 0 ? named[0] : undefined)
  if (missing !== undefined) {
    throw new TypeError(`${missing} has no value. Omit it for requests without a credential.`)
  }
}

/**
 * Returns the credentials of a client.
 *
 * @param requestTokens - sends one `POST /auth/refresh`; rejects if the API does
 * @throws {TypeError} A named credential has no value, or there are an API key and tokens.
 */
export function credentialsOf(
  credential: Credential,
  requestTokens: (refreshToken: string) => Promise<Tokens>,
  onTokens: ((tokens: Tokens) => unknown) | undefined,
): Credentials {
  requireNamed(credential)
  let { token, refreshToken } = credential
  const { apiKey } = credential
  if (apiKey !== undefined && (token !== undefined || refreshToken !== undefined)) {
    throw new TypeError('Give an API key or tokens, not both.')
  }
  let running: Promise<void> | undefined

  const refreshTokens = async (current: string) => {
    const tokens = await requestTokens(current).catch((error) => {
      // A revoked refresh token is not sent twice: that would look like a theft.
      if (error instanceof GatehookError && error.code === 'invalid_grant') refreshToken = undefined
      throw error
    })
    token = tokens.accessToken
    refreshToken = tokens.refreshToken ?? current
    // Before any request continues: the application has stored the pair if the process ends.
    await onTokens?.({ ...tokens, refreshToken })
  }
  const refreshOnce = async (current: string) => {
    running ??= refreshTokens(current).finally(() => {
      running = undefined
    })
    await running
  }
  const bearer = () => (token === undefined ? undefined : `Bearer ${token}`)

  return {
    async headers() {
      if (apiKey !== undefined) return { 'x-api-key': apiKey }
      if (running) await running
      if (token === undefined && refreshToken !== undefined) await refreshOnce(refreshToken)
      const authorization = bearer()
      return authorization === undefined ? {} : { authorization }
    },
    async refresh(rejected) {
      // Another request has refreshed meanwhile: the new token is valid.
      if (!running && rejected.authorization !== bearer()) return true
      if (refreshToken === undefined) return false
      await refreshOnce(refreshToken)
      return true
    },
  }
}
