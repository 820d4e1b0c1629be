/** The lists of documents for programs: `/llms.txt`, and the API catalog of RFC 9727. Pure. */
import { resourceMetadataUrl } from '../../identity/access/protected-resources.ts'
import type { Page } from './content.ts'
import { markdownAddress } from './markdown-page.ts'

interface CatalogOptions {
  readonly base: string
  /** Whether agents connect to `/mcp`. */
  readonly hasMcp: boolean
}

interface VersionPages {
  readonly version: string
  readonly pages: readonly Page[]
}

/** @see https://llmstxt.org */
export function llmsText(
  service: string,
  { base, hasMcp }: CatalogOptions,
  versions: readonly VersionPages[],
): string {
  const sections = versions.map(({ version, pages }, n) => {
    const lines = pages.map(
      ({ name, title, summary }) =>
        `- [${title}](${markdownAddress(base, version, name)}): ${summary}`,
    )
    const document = `- [OpenAPI](${base}/openapi/${version}.json): The document of ${version}.`
    return [`## ${n === 0 ? version : `Optional: ${version}`}`, '', ...lines, document].join('\n')
  })
  const agents = hasMcp ? [`Agents connect to ${base}/mcp (Model Context Protocol).`] : []
  const head = [`# ${service}`, `> The reference of the API at ${base}/api.`, ...agents]
  return [...head, ...sections, ''].join('\n\n')
}

const PROFILE = 'https://www.rfc-editor.org/info/rfc9727'
const OPENAPI_TYPE = 'application/vnd.oai.openapi+json;version=3.1'

const resourceMetadata = (base: string, path: string) => ({
  href: resourceMetadataUrl(base, path),
  type: 'application/json',
})

/** @see RFC 9727, RFC 9264 */
export function apiCatalog({ base, hasMcp }: CatalogOptions, versions: readonly string[]) {
  const address = `${base}/.well-known/api-catalog`
  const apis = versions.map((version) => ({
    anchor: `${base}/api/${version}`,
    'service-desc': [{ href: `${base}/openapi/${version}.json`, type: OPENAPI_TYPE }],
    'service-doc': [
      { href: `${base}/docs/${version}`, type: 'text/html' },
      { href: `${base}/docs/${version}.md`, type: 'text/markdown' },
    ],
    'service-meta': [resourceMetadata(base, '/api')],
    status: [{ href: `${base}/readyz`, type: 'application/json' }],
  }))
  const docs = `${base}/docs/${versions.at(-1)}/agents`
  const agents = {
    anchor: `${base}/mcp`,
    'service-doc': [
      { href: docs, type: 'text/html' },
      { href: `${docs}.md`, type: 'text/markdown' },
    ],
    'service-meta': [resourceMetadata(base, '/mcp')],
  }
  const entries = [...(hasMcp ? [agents] : []), ...apis]
  const item = entries.map(({ anchor }) => ({ href: anchor }))
  return {
    text: JSON.stringify({ linkset: [{ anchor: address, item }, ...entries] }),
    headers: {
      'content-type': `application/linkset+json; profile="${PROFILE}"`,
      link: `<${address}>; rel="api-catalog"`,
    },
  }
}
