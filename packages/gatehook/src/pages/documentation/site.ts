/**
 * The pages of each version, from the declaration and its OpenAPI document. Pure. `routes.ts`
 * renders a page at its first request.
 */
import { withApi } from '../../declare/resources/api-resources.ts'
import { ownFailuresOf } from '../../declare/resources/listed-failures.ts'
import { agentsPage } from './agents-page.ts'
import { changelogPage } from './changelog-page.ts'
import type { Page } from './content.ts'
import { errorsPage } from './errors-page.ts'
import { eventsPage, webhooksPage } from './event-pages.ts'
import {
  authenticationPage,
  limitsPage,
  listsPage,
  repeatsPage,
  versionsPage,
} from './guide-pages.ts'
import type { VersionNotice } from './notice.ts'
import { readDocument } from './openapi-reader.ts'
import type { PageSource } from './page-source.ts'
import { endpointsPage, resourcePage } from './resource-page.ts'
import { overviewPage, startPage } from './start-pages.ts'
import { tokensPage } from './tokens-page.ts'

/** Returns the pages in the order of the table of contents. */
export function pagesOf(source: PageSource, statuses: readonly VersionNotice[]): readonly Page[] {
  const { service } = source
  const reader = readDocument(source.document)
  const context = { ...source, reader }
  const resources = withApi(service.resources).map((definition) =>
    resourcePage(context, definition),
  )
  const guides = [
    startPage(context),
    ...(source.hasMcp ? [agentsPage(context)] : []),
    authenticationPage(context),
    tokensPage(context),
    listsPage(),
    repeatsPage(context),
    versionsPage(context),
    limitsPage(),
    errorsPage(ownFailuresOf(service)),
  ]
  const events = [webhooksPage(context), eventsPage(context)]
  const others = [...endpointsPage(context), changelogPage(service, statuses)]
  const pages = [...guides, ...resources, ...events, ...others]
  return [overviewPage(context, pages), ...pages]
}
