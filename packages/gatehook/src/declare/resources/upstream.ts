/**
 * The options of `.upstream(…)` and `.forward(…)` (§17.5): a service in any language that answers
 * routes of this one.
 */

import { reportMistakes } from '../../protocol/fields/declaration-mistakes.ts'
import type { AnyBodyFields, OutputMembers } from './body-fields.ts'
import { bodyChanges } from './body-versions.ts'
import type { MediaDeclaration } from './media.ts'
import type { RouteDefinition, RouteOptions, RouteQuery } from './route.ts'

/** A variable of the environment, which the engine reads when it starts. */
export class EnvironmentValue {
  readonly variable: string

  constructor(variable: string) {
    this.variable = variable
  }
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Names a variable of the environment. The start fails with exit status 78 if it is not set.
 *
 * @example
 * service({…}).upstream('billing', { url: env('BILLING_URL') })
 */
export function env(variable: string): EnvironmentValue {
  const isName = typeof variable === 'string' && VARIABLE.test(variable)
  if (!isName) {
    reportMistakes([`env(): ${variable} is not the name of a variable, for example BILLING_URL`])
  }
  return new EnvironmentValue(isName ? variable : 'UNNAMED')
}

export type ConfiguredText = string | EnvironmentValue

export interface UpstreamOptions {
  /** `http://billing:8000` or `https://…`, with a path if its paths have one. */
  readonly url: ConfiguredText
  /**
   * The longest time until the whole response has arrived, of a stream until its head, in
   * milliseconds: 1 to 60,000. Default: 10,000.
   */
  readonly timeoutMs?: number
  /** Headers of each request: `{ authorization: env('BILLING_TOKEN') }`. */
  readonly set?: Readonly<Record<string, ConfiguredText>>
}

export interface UpstreamDefinition {
  readonly name: string
  readonly url: ConfiguredText
  readonly timeoutMs: number
  /** By names in lower case. */
  readonly set: Readonly<Record<string, ConfiguredText>>
}

type OutputObject = AnyBodyFields | OutputMembers
export type ForwardOutput = OutputObject | readonly [OutputObject]

export interface ForwardOptions<
  Q extends RouteQuery | 'pass',
  I extends RouteQuery | MediaDeclaration,
  P extends string,
  O extends ForwardOutput | undefined,
  M extends RouteDefinition['method'],
> extends Pick<RouteOptions<never, never, P, never, false, M>, 'method' | 'path' | 'scope'> {
  /** The name of the upstream. */
  readonly to: string
  /** The path below its `url`, with the `:names` of `path`. */
  readonly upstreamPath: string
  /** The `:names` that are whole numbers: another text is 404, and not sent. Default: none. */
  readonly integers?: readonly string[]
  /** One sentence for the docs. Default: names the upstream. */
  readonly summary?: string
  /** Further headers of the client that the upstream receives. */
  readonly pass?: readonly string[]
  /** The fields of the query, or `pass` for any. Default: none. */
  readonly query?: Q
  /** The fields of the body, or a media type. Default: any body, which is not validated. */
  readonly input?: I
  /**
   * The members of a JSON body below 300, which the server validates and converts for older
   * versions; further members pass. `[fields({…})]`: a list of at most 10,000 such objects, and
   * 50,000 values, which are objects and members. Default: any body.
   */
  readonly output?: O
  /** `wrap`: bodies of 4xx become those of this API. Default: `pass`. */
  readonly errors?: 'pass' | 'wrap'
  /** Whether the response passes in parts, of any size. Default: false, up to 8 MiB. */
  readonly stream?: boolean
  /** Whether the upstream honours `Idempotency-Key`. Default: false. */
  readonly repeatable?: boolean
  /** Further headers of the upstream that the client receives. */
  readonly responseHeaders?: readonly string[]
  /** The status of success, for the docs. Default: 200. */
  readonly status?: number
  /** The largest body in bytes, up to 16 MiB. Default: 1 MiB. */
  readonly maxBodyBytes?: number
  /** `false`: agents do not reach it by the Model Context Protocol. Default: true. */
  readonly mcp?: boolean
}

export type AnyForwardOptions = ForwardOptions<
  RouteQuery | 'pass',
  RouteQuery | MediaDeclaration,
  string,
  ForwardOutput | undefined,
  RouteDefinition['method']
>

const lowerCase = (names: readonly string[] = []): string[] =>
  names.map((name) => String(name).toLowerCase())

export const defineUpstream = (
  name: string,
  { url, timeoutMs = 10_000, set = {} }: UpstreamOptions,
): UpstreamDefinition => ({
  name,
  url,
  timeoutMs,
  set: Object.fromEntries(Object.entries(set).map(([name, text]) => [name.toLowerCase(), text])),
})

const ofUpstream = () => {
  throw new Error('an upstream answers this route')
}

/** Returns the route of valid options. */
export function defineForward(options: AnyForwardOptions): RouteDefinition {
  const { to, upstreamPath, query, pass, errors = 'pass', stream = false, ...rest } = options
  const {
    integers = [],
    repeatable = false,
    responseHeaders,
    summary,
    output: declared,
    ...route
  } = rest
  const isList = Array.isArray(declared)
  const output = isList ? declared[0] : declared
  const definition = {
    summary: summary ?? `Forwards to ${to}.`,
    ...route,
    ...(query !== undefined && query !== 'pass' && { query }),
    ...(output !== undefined && { output }),
    handle: ofUpstream,
    changes: [query, route.input, output].flatMap(bodyChanges),
    forward: {
      to,
      upstreamPath,
      integers,
      pass: lowerCase(pass),
      passesQuery: query === 'pass',
      returnsList: isList,
      errors,
      stream,
      repeatable,
      responseHeaders: lowerCase(responseHeaders),
    },
  }
  return definition as RouteDefinition
}
