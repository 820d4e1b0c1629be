/**
 * Middleware for Express, Fastify and Hono: verifies the credential of a request, and gives the
 * handler the answer as `gatehook`. Structural types, so that the package has no dependencies.
 */
import { GatehookError } from './error.ts'
import { type ActiveCredential, VerifierUnavailable, type Verify } from './verification.ts'

interface ProtectOptions<Context> {
  readonly scopes?: readonly string[] | undefined
  readonly resource?: string | undefined
  /** The only mode that passes: a test key must not read live rows. Default: both. */
  readonly mode?: 'live' | 'test' | undefined
  /** Requests that each call counts as; an answer with a cost is never cached. */
  readonly cost?: number | undefined
  /** Returns the address of the client. Default: `ip` of Express and Fastify; of Hono, none. */
  readonly address?: ((context: Context) => string | undefined) | undefined
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

interface ExpressRequest {
  readonly headers: Headers
  readonly ip?: string | undefined
}
interface ExpressResponse {
  status(code: number): ExpressResponse
  set(headers: Record<string, string>): ExpressResponse
  json(body: unknown): unknown
}
interface FastifyReply {
  code(status: number): FastifyReply
  headers(headers: Record<string, string>): FastifyReply
  send(body: unknown): unknown
}
interface HonoContext {
  readonly req: { header(name: string): string | undefined }
  set(name: 'gatehook', answer: ActiveCredential): void
  json(body: unknown, status: never, headers: Record<string, string>): Response
}

export interface VerifierMiddleware {
  /** `app.get(path, verifier.express({ scopes }), handle)`; `req.gatehook` is the answer. */
  express<R extends ExpressRequest>(
    options?: ProtectOptions<R>,
  ): (req: R, res: ExpressResponse, next: (error?: unknown) => void) => Promise<void>
  /**
   * A `preHandler`: `{ preHandler: verifier.fastify({ scopes }) }`. `NoInfer`, because the compiler
   * finds no type in the overloads of a hook.
   */
  fastify<R extends ExpressRequest>(
    options?: ProtectOptions<R>,
  ): (request: NoInfer<R>, reply: FastifyReply) => Promise<unknown>
  /** `app.use(path, verifier.hono({ scopes, address }))`; `c.get('gatehook')` is the answer. */
  hono<C extends HonoContext>(
    options?: ProtectOptions<C>,
  ): (context: C, next: () => Promise<void>) => Promise<Response | undefined>
}

interface Refusal {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: object
}

/** Returns the only credential of a request; an empty text if it has several. */
function credentialOf(header: (name: string) => string | undefined): string | undefined {
  const key = header('x-api-key')
  const authorization = header('authorization')
  if (key !== undefined) return authorization === undefined ? key : ''
  return /^(?:bearer|apikey) +(\S+)$/i.exec(authorization ?? '')?.[1]
}

const CREDENTIAL_MAX = 8192

/** Returns whether the service accepts the text as a credential: others are refused without it. */
const isCredential = (text: string): boolean =>
  text.length <= CREDENTIAL_MAX && !/[\x00-\x1f\x7f]|\p{Surrogate}/u.test(text)

/** Returns an IP address without its zone; undefined for other text, which the service rejects. */
function parseAddress(text: string | undefined): string | undefined {
  const address = text?.split('%', 1)[0] ?? ''
  if (!/^[\dA-Fa-f:.]{2,45}$/.test(address)) return undefined
  const isAddress = address.includes(':')
    ? URL.canParse(`http://[${address}]/`)
    : /^\d+\.\d+\.\d+\.\d+$/.test(address) && address.split('.').every(isByte)
  return isAddress ? address : undefined
}

const isByte = (text: string): boolean => /^(?:0|[1-9]\d{0,2})$/.test(text) && Number(text) <= 255

/**
 * Returns the error of a request that the service rejected, such as for the key of the application.
 * It has neither the status nor the message of its cause: frameworks would send both to the client.
 */
const failureOf = (error: unknown): unknown =>
  error instanceof GatehookError
    ? new Error('The credential could not be verified: is the key of the application valid?', {
        cause: error,
      })
    : error

export function createMiddleware(verify: Verify): VerifierMiddleware {
  const decide = async (
    header: (name: string) => string | undefined,
    address: string | undefined,
    { scopes, resource, mode, cost }: ProtectOptions<never>,
  ): Promise<ActiveCredential | Refusal> => {
    const credential = credentialOf(header)
    if (credential === undefined || !isCredential(credential)) {
      const headers = { 'www-authenticate': 'Bearer, ApiKey' }
      return { status: 401, headers, body: { error: 'unauthorized' } }
    }
    if (credential === '') {
      return { status: 400, headers: {}, body: { error: 'ambiguous_credentials' } }
    }
    try {
      const answer = await verify({
        credential,
        scopes,
        address: parseAddress(address),
        resource,
        cost,
      })
      if (answer.active) {
        const passes = mode === undefined || answer.mode === mode
        return passes ? answer : { status: 403, headers: {}, body: { error: 'mode' } }
      }
      const { status, headers, reason, missing_scopes } = answer
      return { status, headers: { ...headers }, body: { error: reason, missing_scopes } }
    } catch (error) {
      if (!(error instanceof VerifierUnavailable)) throw failureOf(error)
      const body = { error: 'verification_unavailable' }
      return { status: 503, headers: { 'retry-after': '1' }, body }
    }
  }
  const decideNode = <R extends ExpressRequest>(request: R, options: ProtectOptions<R>) => {
    const header = (name: string) => {
      const value = request.headers[name]
      return typeof value === 'object' ? value.join(', ') : value
    }
    return decide(header, options.address ? options.address(request) : request.ip, options)
  }
  return {
    express:
      (options = {}) =>
      async (req, res, next) => {
        try {
          const result = await decideNode(req, options)
          if ('active' in result) next(void Object.assign(req, { gatehook: result }))
          else res.status(result.status).set(result.headers).json(result.body)
        } catch (error) {
          next(error)
        }
      },
    fastify:
      (options = {}) =>
      async (request, reply) => {
        const result = await decideNode(request, options)
        if ('active' in result) return void Object.assign(request, { gatehook: result })
        return reply.code(result.status).headers(result.headers).send(result.body)
      },
    hono:
      (options = {}) =>
      async (context, next) => {
        const header = (name: string) => context.req.header(name)
        const result = await decide(header, options.address?.(context), options)
        if (!('active' in result)) {
          return context.json(result.body, result.status as never, result.headers)
        }
        context.set('gatehook', result)
        await next()
        return undefined
      },
  }
}
