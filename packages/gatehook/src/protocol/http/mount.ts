/**
 * Serves endpoints under a second prefix with other callers: the portal and operators use the
 * public handlers for one customer. Body, conditions, 405 and limits stay those of the handler.
 * Pure; `route-table.ts` lists the mounts.
 */
import type { Answer, Call, Endpoint, Operation } from './call.ts'
import { itemTexts, memberTexts, objectText } from './json-body.ts'

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
function withPrefix(answer: Answer, prefix: string): Answer {
  const { json, headers } = answer
  const location = headers?.location
  const isLinked = json?.includes('"_links":{') === true
  return {
    ...answer,
    ...(location?.startsWith('/') && { headers: { ...headers, location: prefix + location } }),
    ...(isLinked && { json: withItemLinks(json, prefix) }),
  }
}

/** Adds a prefix to the links of a page and of its items. */
export const prefixLinks = (json: string, prefix: string): string =>
  withLinks(withItemLinks(json, prefix), prefix)

/** Paths of this API; the body of a route of the team can have other values. */
type Links = Readonly<Record<string, unknown>>

const prefixed = (links: Links, prefix: string): Links =>
  Object.fromEntries(
    Object.entries(links).map(([rel, path]) => [
      rel,
      typeof path === 'string' && path.startsWith('/') ? prefix + path : path,
    ]),
  )

/** Adds a prefix to the links of each item of a page. Rows stay text, which is never parsed. */
function withItemLinks(page: string, prefix: string): string {
  const members = page.startsWith('{') ? memberTexts(page) : undefined
  const data = members?.get('data')
  if (!data?.startsWith('[')) return page
  members!.set(
    'data',
    `[${itemTexts(data)
      .map((item) => withLinks(item, prefix))
      .join()}]`,
  )
  return objectText(members!)
}

/** Adds a prefix to the links of an object. */
function withLinks(object: string, prefix: string): string {
  if (!object.startsWith('{')) return object
  const members = memberTexts(object)
  const links = members.get('_links')
  if (!links?.startsWith('{')) return object
  members.set('_links', JSON.stringify(prefixed(JSON.parse(links) as Links, prefix)))
  return objectText(members)
}
