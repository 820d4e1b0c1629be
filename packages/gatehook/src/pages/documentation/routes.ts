/**
 * `/docs`, `/llms.txt` and `/.well-known/api-catalog`. A page is rendered at its first request, and
 * cached until the calendar of a version or the public URL changes. There are as many cached pages
 * as pages; other paths are not cached.
 */

import { Failure } from '../../kernel/failure.ts'
import { pathOfUrl } from '../../kernel/uri.ts'
import { type Answer, type Call, type Route, route } from '../../protocol/http/call.ts'
import { underPath } from '../../protocol/http/mount-path.ts'
import { PAGE_POLICY } from '../../protocol/http/page-policy.ts'
import { createResponder, type Responder } from '../../protocol/http/text-responder.ts'
import type { BuiltPages } from '../assets/assets.ts'
import { type DocsFiles, readDocsFiles } from './assets.ts'
import { apiCatalog, llmsText } from './catalogs.ts'
import type { Page } from './content.ts'
import { type Frame, renderPage } from './html-page.ts'
import { renderMarkdown } from './markdown-page.ts'
import { changesFor, noticeOf, stateWords, type VersionNotice } from './notice.ts'
import type { PageSource } from './page-source.ts'
import { searchIndex } from './search.ts'
import { pagesOf } from './site.ts'

export interface DocumentationDeps {
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  /** Creates the source of the pages of a version. */
  readonly sourceOf: (version: string, base: string) => PageSource
  /** The current status of a version; the same object until it changes. */
  readonly statusOf: (version: string) => VersionNotice
  readonly publicUrl: () => string
  readonly service: string
  /** Whether agents connect to `/mcp`. */
  readonly hasMcp: boolean
  /** Has the stylesheet; undefined if the pages were not built. */
  readonly pages: BuiltPages | undefined
}

/** The rendered pages of one state of all calendars. */
interface Edition {
  readonly base: string
  readonly statuses: readonly VersionNotice[]
  readonly pages: Map<string, readonly Page[]>
  readonly responders: Map<string, Responder>
}

const HTML_TYPE = 'text/html; charset=utf-8'
const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'
const FRESH = 'public, max-age=60'

const PAGE_HEADERS = {
  'content-type': HTML_TYPE,
  'content-security-policy': `${PAGE_POLICY}; frame-ancestors 'none'`,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

export function documentationRoutes(deps: DocumentationDeps): Route[] {
  const { versions, publicUrl, hasMcp } = deps
  const newest = versions.at(-1)!
  const files = readDocsFiles(deps.pages)
  const currentEdition = editionKeeper(deps)

  const notFound = (call: Call) => noPage(call, deps, currentEdition(), files)

  const respond = (call: Call, key: string, create: () => Responder): Promise<Answer> => {
    const { responders } = currentEdition()
    let responder = responders.get(key)
    if (!responder) responders.set(key, (responder = create()))
    return responder(call)
  }

  const pageRoute = (call: Call, version: string, file: string): Promise<Answer> | Answer => {
    const [, name, extension] = /^([a-z0-9_-]*)(\.md|\.json)?$/.exec(file) ?? []
    if (name === undefined) return notFound(call)
    if (!versions.includes(version)) {
      const isPage = pagesIn(deps, currentEdition(), newest).some((page) => page.name === version)
      return isPage && file === '' ? redirect(`/docs/${newest}/${version}`) : notFound(call)
    }
    if (file === 'search.json') {
      return respond(call, `${version}/search.json`, () => {
        const pages = pagesIn(deps, currentEdition(), version)
        return createResponder(searchIndex(pages, version, pathOfUrl(publicUrl())), {
          'content-type': 'application/json',
          'cache-control': FRESH,
        })
      })
    }
    const page = pagesIn(deps, currentEdition(), version).find((item) => item.name === name)
    if (!page || extension === '.json') return notFound(call)
    const isMarkdown = extension === '.md'
    return respond(call, `${version}/${name}${extension ?? ''}`, () =>
      pageResponder(deps, currentEdition(), files, { version, page, isMarkdown }),
    )
  }

  return [
    route('/docs', { GET: { handle: () => redirect(`/docs/${newest}`) } }),
    route('/docs/assets/:name', {
      GET: {
        handle(call) {
          const file = [files.style, files.script].find((file) => file?.name === call.params.name)
          return file?.respond(call) ?? notFound(call)
        },
      },
    }),
    route('/docs/:version', {
      GET: {
        handle(call) {
          const [version, extension] = splitExtension(call.params.version!)
          return pageRoute(call, version, extension)
        },
      },
    }),
    route('/docs/:version/:page', {
      GET: { handle: (call) => pageRoute(call, call.params.version!, call.params.page!) },
    }),
    route('/llms.txt', {
      GET: {
        handle: (call) =>
          respond(call, '/llms.txt', () => {
            const edition = currentEdition()
            const pages = versions.toReversed().map((version) => ({
              version,
              pages: pagesIn(deps, edition, version),
            }))
            const body = llmsText(deps.service, { base: publicUrl(), hasMcp }, pages)
            return createResponder(body, { 'content-type': MARKDOWN_TYPE, 'cache-control': FRESH })
          }),
      },
    }),
    route('/.well-known/api-catalog', {
      GET: {
        handle: (call) =>
          respond(call, '/.well-known/api-catalog', () => {
            const { text, headers } = apiCatalog({ base: publicUrl(), hasMcp }, versions)
            return createResponder(text, { ...headers, 'cache-control': FRESH })
          }),
      },
    }),
  ]
}

const splitExtension = (text: string): [name: string, file: string] =>
  text.endsWith('.md') ? [text.slice(0, -'.md'.length), '.md'] : [text, '']

/** Returns the edition of the present calendars; a new one after a change. */
function editionKeeper({ versions, statusOf, publicUrl }: DocumentationDeps): () => Edition {
  let edition: Edition | undefined
  return () => {
    const statuses = versions.map(statusOf)
    const base = publicUrl()
    const isCurrent =
      edition?.base === base && edition.statuses.every((status, n) => status === statuses[n])
    if (!isCurrent) edition = { base, statuses, pages: new Map(), responders: new Map() }
    return edition!
  }
}

function pagesIn(deps: DocumentationDeps, edition: Edition, version: string): readonly Page[] {
  let pages = edition.pages.get(version)
  if (!pages) {
    pages = pagesOf(deps.sourceOf(version, edition.base), edition.statuses)
    edition.pages.set(version, pages)
  }
  return pages
}

interface PageSelection {
  readonly version: string
  readonly page: Page
  readonly isMarkdown: boolean
}

function pageResponder(
  deps: DocumentationDeps,
  edition: Edition,
  files: DocsFiles,
  { version, page, isMarkdown }: PageSelection,
): Responder {
  const { service, versions } = deps
  const status = edition.statuses[versions.indexOf(version)]!
  const notice = noticeOf(status)
  const changes = notice === undefined ? [] : changesFor(status, page)
  if (isMarkdown) {
    const frame = { service, version, base: edition.base, notice, changes }
    const headers = { 'content-type': MARKDOWN_TYPE, 'cache-control': FRESH }
    return createResponder(renderMarkdown(page, frame), headers)
  }
  const frame = { ...frameOf(deps, edition, files, version), notice, changes }
  const text = underPath(renderPage(page, frame), pathOfUrl(edition.base))
  return createResponder(text, { ...PAGE_HEADERS, 'cache-control': FRESH })
}

/** Returns the frame of each page of a version. */
const frameOf = (
  deps: DocumentationDeps,
  edition: Edition,
  { style, script }: DocsFiles,
  version: string,
): Frame => ({
  service: deps.service,
  version,
  versions: deps.versions
    .map((name, n) => ({ name, state: stateWords(edition.statuses[n]!) }))
    .toReversed(),
  pages: pagesIn(deps, edition, version),
  notice: undefined,
  changes: [],
  style: style && `/docs/assets/${style.name}`,
  script: `/docs/assets/${script.name}`,
})

const redirect = (location: string): Answer => ({
  status: 302,
  raw: '',
  headers: { location, 'cache-control': FRESH },
})

const NO_PAGE: Page = {
  name: 'no-page',
  title: 'No such page',
  group: '',
  summary: 'The reference has no page at this address.',
  blocks: [{ kind: 'text', text: 'The contents list every page.' }],
  aside: [],
  sections: [],
}

/** A browser gets a page, other callers the usual error. */
function noPage(
  { headers }: Call,
  deps: DocumentationDeps,
  edition: Edition,
  files: DocsFiles,
): Answer {
  if (!headers.accept?.includes('text/html')) throw new Failure('not_found')
  const frame = frameOf(deps, edition, files, deps.versions.at(-1)!)
  const raw = underPath(renderPage(NO_PAGE, frame), pathOfUrl(edition.base))
  return { status: 404, raw, headers: { ...PAGE_HEADERS, 'cache-control': 'no-store' } }
}
