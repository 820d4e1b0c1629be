/**
 * The credential of a client, and the renewal of a token. Tokens live in memory only; `onTokens`
 * hands each new pair to whoever keeps them.
 */
import { GatehookError } from './error.ts'

export interface Tokens {
  readonly accessToken: string
  /** It replaces the one before, which is dead from now on (rules §4.2): keep this one. */
  readonly refreshToken: string | undefined
  /** Life of the access token, in seconds. */
  readonly expiresIn: number | undefined
}

/** An API key, or tokens of a login or an OAuth grant, or nothing for the paths that are open. */
export type Credential =
  | { readonly apiKey: string; readonly token?: undefined; readonly refreshToken?: undefined }
  | {
      readonly apiKey?: undefined
      /** Access token. May be missing where there is a refresh token. */
      readonly token?: string | undefined
      readonly refreshToken?: string | undefined
    }

export interface Credentials {
  /** The headers of a request, renewed first where there is only a refresh token. */
  headers(): Promise<Record<string, string>>
  /**
   * Gets new tokens after these headers were refused. False where that is not possible. At most one
   * renewal runs at a time: a refresh token used twice kills the whole family.
   */
  renew(refused: Record<string, string>): Promise<boolean>
}

/** `refresh` is one `POST /auth/refresh`; it rejects when the API refuses. */
export function credentialsOf(
  credential: Credential,
  refresh: (refreshToken: string) => Promise<Tokens>,
  onTokens: ((tokens: Tokens) => unknown) | undefined,
): Credentials {
  let { token, refreshToken } = credential
  const { apiKey } = credential
  if (apiKey !== undefined && (token !== undefined || refreshToken !== undefined)) {
    throw new TypeError('Give an API key or tokens, not both.')
  }
  let running: Promise<void> | undefined

  const renewal = async (current: string) => {
    const tokens = await refresh(current).catch((error) => {
      // A dead refresh token is not shown twice: that would look like a theft.
      if (error instanceof GatehookError && error.code === 'invalid_grant') refreshToken = undefined
      throw error
    })
    token = tokens.accessToken
    refreshToken = tokens.refreshToken ?? current
    // Before any request goes on: should the process die now, the successor is kept.
    await onTokens?.({ ...tokens, refreshToken })
  }
  const renewOnce = async (current: string) => {
    running ??= renewal(current).finally(() => {
      running = undefined
    })
    await running
  }
  const bearer = () => (token === undefined ? undefined : `Bearer ${token}`)

  return {
    async headers() {
      if (apiKey !== undefined) return { 'x-api-key': apiKey }
      if (running) await running
      if (token === undefined && refreshToken !== undefined) await renewOnce(refreshToken)
      const authorization = bearer()
      return authorization === undefined ? {} : { authorization }
    },
    async renew(refused) {
      // Another request has renewed meanwhile: its token is there to be used.
      if (!running && refused.authorization !== bearer()) return true
      if (refreshToken === undefined) return false
      await renewOnce(refreshToken)
      return true
    },
  }
}
