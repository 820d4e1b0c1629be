/**
 * The path of the public URL in what the server writes (§17.4): handlers name paths of the API as
 * `/api/…`; behind a public URL with a path, each of them begins with that path. Pure.
 */
import type { After } from './call.ts'
import { PROBLEM_TYPE } from './content-negotiation.ts'
import { prefixLinks } from './mount.ts'

const ATTRIBUTES = /(\b(?:href|src|action|data-index|data-path)=")\/(?!\/)/g

/** Adds the path to the attributes of a page that name paths of this server. */
export const underPath = (html: string, path: string): string =>
  path === '' ? html : html.replace(ATTRIBUTES, `$1${path}/`)

/** Returns the step that adds the path to `Location`, `Link`, the links of JSON, and pages. */
export function addMountPath(path: string): After {
  if (path === '') return () => undefined
  const withPath = (link: string) => link.replace(/<\/(?!\/)/g, `<${path}/`)
  return async (call, answer) => {
    const { location, link } = answer.headers ?? {}
    if (location?.startsWith('/')) answer.headers = { ...answer.headers, location: path + location }
    if (link !== undefined) answer.headers = { ...answer.headers, link: withPath(link) }
    if (call.out.link !== undefined) call.out.link = withPath(call.out.link)
    if (answer.json?.includes('"_links":{')) {
      answer.json = await prefixLinks(answer.json, path)
    }
    if (answer.headers?.['content-type'] === PROBLEM_TYPE) {
      answer.json = answer.json?.replace('"instance":"/', `"instance":"${path}/`)
    }
    if (call.kind === 'page' && typeof answer.raw === 'string') {
      answer.raw = underPath(answer.raw, path)
    }
  }
}
