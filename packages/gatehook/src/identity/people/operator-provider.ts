/**
 * The identity provider of operators (§16.9), by `openid-client`: the code flow with PKCE, nonce,
 * and the groups, which it reads again while a session lives. The library verifies issuer,
 * audience, signature, times and subject. It loads with the first sign-in.
 */
import type {
  Configuration,
  CustomFetch,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
} from 'openid-client'
import { ROLES, type Role } from '../../kernel/principal.ts'
import type { GroupRole } from '../../platform/config/values.ts'

const TIMEOUT_S = 5
const CLOCK_TOLERANCE_S = 30
const MAX_NAME = 320

export interface ProviderSettings {
  readonly issuer: string
  readonly clientId: string
  /** Null: the client is public. */
  readonly clientSecret: string | null
  readonly scopes: string
  /** The claim with the groups. */
  readonly claim: string
  readonly roles: readonly GroupRole[]
  readonly redirectUri: () => string
  /** Sends the requests of the library; bounds the responses. */
  readonly fetch: CustomFetch
}

/** The secrets of a request, which its response must match. */
export interface ProviderFlow {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Whether the provider must display no page. */
  readonly isSilent: boolean
}

/** With which the groups are read again. */
export interface ProviderTokens {
  readonly access: string
  readonly refresh?: string | undefined
}

export interface ProviderOperator {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  /** The highest role of its groups; undefined: none has one. */
  readonly role: Role | undefined
  readonly tokens: ProviderTokens
}

type ProviderClaims = Readonly<Record<string, unknown>>
type ProviderResponse = TokenEndpointResponse & TokenEndpointResponseHelpers

/** Returns the value of a claim; a dot leads into an object, unless a claim has the whole name. */
function valueAt(claims: ProviderClaims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as ProviderClaims)[name]
  }
  return value
}

/** Returns the highest role of the groups that a claim lists. */
function roleOf(
  claims: ProviderClaims,
  { claim, roles }: Pick<ProviderSettings, 'claim' | 'roles'>,
): Role | undefined {
  const groups = new Set([valueAt(claims, claim)].flat())
  return ROLES.findLast((role) => roles.some((row) => row.role === role && groups.has(row.group)))
}

/** Returns the name of an operator in lists and logs. It is no identity. */
const nameOf = ({ email, preferred_username: name, sub }: ProviderClaims): string => {
  const text = [email, name, sub].find((value) => typeof value === 'string' && value !== '')
  return String(text).replace(/\p{C}/gu, '').slice(0, MAX_NAME)
}

/** Responses that say nothing of the operator: too many requests, and a wrong client secret. */
const SAY_NOTHING: ReadonlySet<unknown> = new Set([408, 429, 'invalid_client'])

/** Returns whether an error is a response of the provider that refuses the operator. */
export function isRefusal(error: unknown): boolean {
  const { status, error: code } = error as { status?: unknown; error?: unknown }
  if (typeof status !== 'number' || status < 400 || status >= 500) return false
  return !SAY_NOTHING.has(status) && !SAY_NOTHING.has(code)
}

const load = () => import('openid-client')

/** Reads the metadata of the provider. */
async function discoverProvider(settings: ProviderSettings): Promise<Configuration> {
  const { issuer, clientId, clientSecret, fetch } = settings
  const client = await load()
  const url = new URL(issuer)
  const isInsecure = url.protocol === 'http:' // a loopback address (`optionRules`)
  const { enableNonRepudiationChecks, allowInsecureRequests } = client
  return client.discovery(
    url,
    clientId,
    {
      ...(clientSecret !== null && { client_secret: clientSecret }),
      [client.clockTolerance]: CLOCK_TOLERANCE_S,
    },
    clientSecret === null ? client.None() : undefined,
    {
      timeout: TIMEOUT_S,
      [client.customFetch]: fetch,
      execute: [enableNonRepudiationChecks, ...(isInsecure ? [allowInsecureRequests] : [])],
    },
  )
}

/** Returns the operator of a response: of the sign-in, or of a later session of `previous`. */
async function readOperator(
  settings: ProviderSettings,
  config: Configuration,
  response: ProviderResponse,
  previous: { readonly subject?: string; readonly refresh?: string | undefined } = {},
): Promise<ProviderOperator> {
  const { fetchUserInfo } = await load()
  const idClaims = response.claims()
  const subject = previous.subject ?? idClaims!.sub
  if (idClaims && idClaims.sub !== subject) throw new Error('the ID token has another subject')
  // Providers put groups into the ID token, into userinfo, or both.
  const hasGroups = idClaims !== undefined && valueAt(idClaims, settings.claim) !== undefined
  const isReadable = !hasGroups && config.serverMetadata().userinfo_endpoint !== undefined
  const userinfo = isReadable
    ? await fetchUserInfo(config, response.access_token, subject)
    : undefined
  const claims: ProviderClaims = { ...idClaims, ...userinfo }
  const refresh = response.refresh_token ?? previous.refresh
  return {
    issuer: config.serverMetadata().issuer,
    subject,
    email: nameOf(claims),
    role: roleOf(claims, settings),
    tokens: { access: response.access_token, refresh },
  }
}

export type OperatorProvider = ReturnType<typeof createOperatorProvider>

export function createOperatorProvider(settings: ProviderSettings) {
  let discovered: Promise<Configuration> | undefined
  /** A failure is not cached. */
  const configuration = (): Promise<Configuration> => {
    discovered ??= discoverProvider(settings).catch((error: unknown) => {
      discovered = undefined
      throw error
    })
    return discovered
  }

  return {
    /** Returns the address of the provider, to which the browser goes. */
    async begin(
      isSilent: boolean,
    ): Promise<{ readonly location: string; readonly flow: ProviderFlow }> {
      const client = await load()
      const config = await configuration()
      const flow = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        isSilent,
      }
      const location = client.buildAuthorizationUrl(config, {
        redirect_uri: settings.redirectUri(),
        scope: settings.scopes,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
        ...(isSilent && { prompt: 'none' }),
      })
      return { location: location.href, flow }
    },

    /** Exchanges the code of a response. Throws if anything does not match the request. */
    async finish(search: string, flow: ProviderFlow): Promise<ProviderOperator> {
      const client = await load()
      const config = await configuration()
      const response = await client.authorizationCodeGrant(
        config,
        new URL(`${settings.redirectUri()}?${search}`),
        {
          expectedState: flow.state,
          expectedNonce: flow.nonce,
          pkceCodeVerifier: flow.verifier,
          idTokenExpected: true,
        },
      )
      return readOperator(settings, config, response)
    },

    /** Reads the groups again: by the refresh token, else at userinfo. Throws without an answer. */
    async readAgain(
      { access, refresh }: ProviderTokens,
      subject: string,
    ): Promise<ProviderOperator> {
      const client = await load()
      const config = await configuration()
      const response =
        refresh === undefined
          ? ({ access_token: access, claims: () => undefined } as ProviderResponse)
          : await client.refreshTokenGrant(config, refresh)
      return readOperator(settings, config, response, { subject, refresh })
    },
  }
}
