/**
 * Serves endpoints under a second prefix with other callers: the portal and operators use the
 * public handlers for one customer. Body, conditions, 405 and limits stay those of the handler.
 * `route-table.ts` lists the mounts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Answer, Call, Endpoint, Operation } from './call.ts'
import { createJsonCursor } from './json-text.ts'

export interface Mount {
  /** The path before the public path, with parameters as `:name`: `/portal/api`. */
  readonly prefix: string
  readonly kind: Endpoint['kind']
  /** Returns the access rules of a mounted operation; default: those it has. */
  readonly access?: (
    operation: Operation,
    method: string,
    path: string,
  ) => Pick<Operation, 'callers' | 'scope' | 'role' | 'authenticated'>
  /** Runs before the handler, for example to replace the principal; a response ends the request. */
  readonly enter?: (call: Call, path: string) => Answer | undefined | Promise<Answer | undefined>
}

/** Returns the endpoints as they are served under the prefix of a mount. */
export const mountEndpoints = (endpoints: readonly Endpoint[], mount: Mount): Endpoint[] =>
  endpoints.map(({ path, methods }) => ({
    kind: mount.kind,
    path: mount.prefix + path,
    methods: Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => [
        method,
        {
          ...operation,
          ...mount.access?.(operation, method, path),
          handle: enterAnd(operation.handle, mount, path),
        },
      ]),
    ),
  }))

const enterAnd =
  (handle: Operation['handle'], { prefix, enter }: Mount, path: string): Operation['handle'] =>
  async (call) => {
    const answer = (await enter?.(call, path)) ?? (await handle(call))
    return withPrefix(answer, prefixOf(call.path, prefix))
  }

/** Returns the prefix as the caller sent it, with its parameters. */
const prefixOf = (path: string, prefix: string): string =>
  path.split('/').slice(0, prefix.split('/').length).join('/')

/** The path of a new object, and the links of items (§7.2), are under the prefix as well. */
async function withPrefix(answer: Answer, prefix: string): Promise<Answer> {
  const { json, headers } = answer
  const location = headers?.location
  const isLinked = json?.includes('"_links":{') === true
  return {
    ...answer,
    ...(location?.startsWith('/') && { headers: { ...headers, location: prefix + location } }),
    ...(isLinked && { json: await prefixLinks(json, prefix, 'items') }),
  }
}

/** Text that is read before other requests run. */
const TURN_CHARACTERS = 64 * 1024

/**
 * Adds a prefix to the links of the items of a page, and to its own unless `of` is `items`. All
 * else stays the same text, which is never parsed. Other requests run between two items (§7.10).
 */
export async function prefixLinks(
  text: string,
  prefix: string,
  of: 'all' | 'items' = 'all',
): Promise<string> {
  const cursor = createJsonCursor(text)
  if (!cursor.isObject()) return text
  const parts: string[] = []
  let end = 0
  const replaceLinks = () => {
    if (!cursor.isObject()) return
    parts.push(text.slice(end, cursor.at))
    const from = cursor.at
    cursor.skip()
    end = cursor.at
    parts.push(JSON.stringify(prefixed(JSON.parse(text.slice(from, end)) as Links, prefix)))
  }
  const replaceMember = (name: string | undefined) => {
    if (name === '_links') replaceLinks()
  }
  let turnStart = 0
  for (const name of cursor.parts()) {
    if (of === 'all') replaceMember(name)
    if (name !== 'data' || !cursor.isArray()) continue
    for (const _ of cursor.parts()) {
      if (cursor.at - turnStart > TURN_CHARACTERS) {
        turnStart = cursor.at
        await nextTurn()
      }
      if (cursor.isObject()) for (const name of cursor.parts()) replaceMember(name)
    }
  }
  return parts.join('') + text.slice(end)
}

/** Paths of this API; the body of a route of the team can have other values. */
type Links = Readonly<Record<string, unknown>>

const prefixed = (links: Links, prefix: string): Links =>
  Object.fromEntries(
    Object.entries(links).map(([rel, path]) => [
      rel,
      typeof path === 'string' && path.startsWith('/') ? prefix + path : path,
    ]),
  )
