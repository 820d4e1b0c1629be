/** The first page of a version, and the page that leads to the first calls. Pure. */

import { withApi } from '../../declare/resources/api-resources.ts'
import { codeExamples, type ExampleRequest } from './code-examples.ts'
import { type ContentBlock, code, list, type Page, softText, table, text } from './content.ts'
import { anchorOf } from './operation-section.ts'
import { pageNameOf } from './page-names.ts'
import type { PageContext } from './page-source.ts'

export function overviewPage(context: PageContext, pages: readonly Page[]): Page {
  const { service, version, base } = context
  const rows = pages.map(({ name, title, summary }) => [`[${title}](${name})`, summary])
  return {
    name: '',
    title: 'Overview',
    group: 'Basics',
    summary: 'All pages of this version.',
    blocks: [
      text(`This is the reference of ${service.name}, version \`${version}\`.`),
      text(`The API is at \`${base}/api/${version}\`. Begin with [your first calls](start).`),
      table('Pages', ['Page', 'Content'], rows),
      softText(
        `For programs: [OpenAPI](/openapi/${version}.json), and each page as Markdown: ` +
          'append `.md` to its address. [/llms.txt](/llms.txt) lists them.',
      ),
    ],
    aside: [firstCall(context)],
    sections: [],
  }
}

/** Returns the first call of a reader: a list of the first resource, or the check of a key. */
function firstCall({ service, version, base }: PageContext): ContentBlock {
  const [first] = withApi(service.resources)
  const request: ExampleRequest = first
    ? {
        ...PLAIN,
        path: `/api/${version}/${first.name}`,
        query: [['limit', '2']],
        collection: first.name,
      }
    : { ...PLAIN, path: `/api/${version}/protected` }
  const title = first ? `List ${first.name}` : 'Check a key'
  return { kind: 'examples', title, variants: codeExamples(base, request) }
}

const PLAIN: ExampleRequest = {
  method: 'GET',
  path: '',
  query: [],
  body: undefined,
  collection: undefined,
  headers: [],
  isRepeatable: false,
  credential: 'key',
  hasAnswer: true,
  isForm: false,
}

export function startPage(context: PageContext): Page {
  const { reader, service, version } = context
  const [first] = withApi(service.resources)
  const collection = first && `/api/${version}/${first.name}`
  const listing = reader.operations.find(
    ({ path, method }) => path === collection && method === 'GET',
  )
  const creation = reader.operations.find(
    ({ path, method }) => path === collection && method === 'POST',
  )
  const scope = listing?.scope ?? 'events:read'
  const linkTo = (operation: typeof listing) =>
    operation && first
      ? [`[${operation.summary}](${pageNameOf(first.name)}#${anchorOf(operation)})`]
      : []
  const steps = [...linkTo(listing), ...linkTo(creation), '[Receive events](webhooks)']
  return {
    name: 'start',
    title: 'Start',
    group: 'Basics',
    summary: 'From a key to the first calls.',
    blocks: [text('A key and the first calls; then a change, and a webhook.')],
    aside: [],
    sections: [
      {
        id: 'key',
        title: '1. A key',
        blocks: [
          text('Obtain a test key, `gk_test_…`. Test data is separate from live data.'),
          list(
            'From the operator of this service, or in its portal.',
            'On your own installation: ' +
              `\`npx gatehook keys create --name first --mode test --scopes ${scope}\`.`,
          ),
          text('Store it in the environment. It belongs in no source code and no URL.'),
        ],
        aside: [code('Shell', 'export KEY=gk_test_…')],
      },
      {
        id: 'call',
        title: '2. A call',
        blocks: listing
          ? [
              text('A page has its rows in `data`. `next_cursor` leads to the next page.'),
              text('[Lists](lists) has the other styles, filters and sorts.'),
            ]
          : [text('This call returns `ok` for every valid credential, and the id of your key.')],
        aside: [firstCall(context)],
      },
      {
        id: 'next',
        title: 'Next',
        blocks: [list(...steps), text('A failed call? [Errors](errors) lists every code.')],
        aside: [],
      },
    ],
  }
}
